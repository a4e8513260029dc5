// Asio's functions that are no templates, compiled once in place of in each user.
#include <boost/asio/impl/src.hpp>
