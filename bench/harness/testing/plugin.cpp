// A library that a test loads while it runs, as libpq loads its own: do its calls reach the
// interposed functions?
#include <sys/socket.h>

#include <cstdlib>

extern "C" int plimsoll_plugin_allocate(int times) {
  int made = 0;
  for (int i = 0; i < times; ++i) {
    // Through volatile pointers, or the compiler would leave the pair out.
    void* volatile block = std::malloc(32);
    made += block != nullptr ? 1 : 0;
    std::free(block);
  }
  return made;
}

extern "C" long plimsoll_plugin_send(int fd, const char* data, unsigned long size) {
  return ::send(fd, data, size, MSG_NOSIGNAL);
}
