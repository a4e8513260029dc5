"""C++ source as plain text whose comments, literals or directives are blanked, so that searching it finds code."""

import bisect
import re

_TOKENS = re.compile(
    r"""(?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?\*/)
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """Comments become spaces; every line keeps its number and every character its place."""
    return _TOKENS.sub(lambda m: _spaces(m[0]) if m["line"] or m["block"] else m[0], text)


def code_only(text):
    """Comments, literals and preprocessor directives become spaces, in place."""
    return _DIRECTIVE.sub(lambda m: _spaces(m[0]), _TOKENS.sub(lambda m: _spaces(m[0]), text))


def includes(text):
    """(line, '<' or '"', path) of every #include that the compiler would see."""
    clean = without_comments(text)
    return [(clean.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in _INCLUDE.finditer(clean)]


class _Scanner:
    """Finds function bodies by matching braces. Outside of functions, what stands before a brace says what it opens."""

    def __init__(self, text):
        self.code = code_only(text)
        self.line_starts = [0] + [m.end() for m in re.finditer("\n", self.code)]
        self.found = []

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position)

    def end_of_block(self, opening):
        """The position of the brace that closes the one at `opening`."""
        depth = 0
        for match in re.compile(r"[{}]").finditer(self.code, opening):
            depth += 1 if match[0] == "{" else -1
            if depth == 0:
                return match.start()
        return len(self.code) - 1

    def scan(self):
        position = head_start = 0
        for_braces = re.compile(r"[{};]")
        while match := for_braces.search(self.code, position):
            position = match.end()
            if match[0] != "{":
                head_start = position
                continue
            head = self.code[head_start:match.start()]
            kind = _kind_of(head)
            if kind == "scope":
                head_start = position
                continue
            end = self.end_of_block(match.start())
            position = end + 1
            if kind == "function":
                self.found.append((self.line_of(match.start()), self.line_of(end), _name_in(head)))
                head_start = position
            # An initializer is part of what is being declared: its head goes on.
        return self.found


def _without_nested(text, opening, closing):
    """`text` with everything between a pair of brackets taken out, the outermost brackets kept."""
    result, depth = [], 0
    for character in text:
        if character == closing and depth > 0:
            depth -= 1
        if depth == 0:
            result.append(character)
        if character == opening:
            depth += 1
    return "".join(result)


def _without_templates(head):
    """Takes template arguments out, so that a function type among them does not look like parameters."""
    head = re.sub(r"\boperator\s*(<=>|<<=|>>=|<<|>>|<=|>=|<|>|->\*?|\(\s*\))", "operator_", head)
    head = head.replace("->", "  ").replace("<<", "  ")
    head = re.sub(r"(?<!template) < ", "   ", head)  # The formatter sets spaces about a comparison alone.
    return _without_nested(head, "<", ">")


def _kind_of(head):
    """What a brace after `head` opens: 'scope' (namespace, type), 'function' or 'initializer'."""
    text = re.sub(r"\[\[.*?\]\]", " ", head, flags=re.DOTALL)
    text = re.sub(r"\balignas\s*\([^)]*\)", " ", text)
    text = re.sub(r"\b(public|private|protected)\s*:(?!:)", " ", text)
    text = _without_templates(text)
    text = re.sub(r"\btemplate\s*<\s*>", " ", text).strip()
    if re.match(r"(inline\s+)?namespace\b", text) or re.match(r"extern\s*$", text):
        return "scope"
    if text.count("(") > text.count(")"):
        return "initializer"  # Among parameters or arguments: a default value, or a lambda.
    flat = _without_nested(text, "(", ")")
    if re.match(r"(typedef\s+|static\s+|const\s+|constexpr\s+|inline\s+)*(class|struct|union|enum)\b", flat):
        if "(" not in flat and "=" not in flat:
            return "scope"
    assigned = re.search(r"(?<![=!<>+\-*/%&|^])=(?!=)", re.sub(r"\boperator\s*\W+", "operator_(", flat))
    if assigned:
        # A lambda that is given a name is a function all the same.
        return "function" if re.search(r"\]\s*(\(\s*\))?[\w\s]*$", flat[assigned.end():]) and "[" in flat else "initializer"
    if "(" not in flat:
        return "initializer"
    # In a constructor's list of members, `name{` initializes; the body follows `)` or `}`.
    members = re.search(r"\)[\w\s()]*:(?!:)", flat.replace("::", "  "))
    if members and re.search(r"[\w>]\s*$", flat):
        return "initializer"
    return "function"


def _name_in(head):
    flat = _without_templates(head).split("(")[0]
    words = re.findall(r"[~\w:]+", flat)
    name = words[-1] if words else "?"
    if re.fullmatch(r"TEST|TEST_F|TEST_P|TYPED_TEST", name):
        arguments = re.search(r"\(([^)]*)\)", head)
        return ".".join(part.strip() for part in arguments[1].split(",")) if arguments else name
    return name


def functions(text):
    """(line of the opening brace, line of the closing one, name) of every outermost function body."""
    return _Scanner(text).scan()
