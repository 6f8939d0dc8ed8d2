#!/usr/bin/env python3
"""Checks scripts.tsv and writes it as a table of constants (script_table.hh).

usage: generate.py SCRIPTS_TSV OUTPUT HEADER...

The words that may stand in the table (operations, traits, reply maps, roles) are read from the headers, so
that they are written down once. Every mistake is reported as FILE:LINE: WHAT, and the exit code is 1.
"""

import re
import sys

COLUMNS = ("sha1", "normal form", "library", "script", "versions", "operation", "traits", "reply map",
           "keys", "arguments")
HEX40 = re.compile(r"[0-9a-f]{40}")
ROLES_MAX = 6


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def enumerators(text, enum):
    body = re.search(r"enum class " + enum + r"\b[^{]*\{(.*?)\};", text, re.S)
    return [word.strip() for word in body.group(1).split(",") if word.strip()]


def flags(text, struct):
    body = re.search(r"struct " + struct + r" \{(.*?)\n\};", text, re.S)
    return re.findall(r"bool (\w+) = false;", body.group(1))


class Problem(Exception):
    pass


def parse_layout(column, text, roles):
    """`a b c`, `a b...` (b comes once or more), `a (b c)...` -> (roles, size of the repeating group)"""
    if text == "-":
        return [], 0
    match = re.fullmatch(r"(?P<fixed>[^()]*?)\s*\((?P<group>[^()]+)\)\.\.\.", text)
    if match:
        group = match["group"].split()
        names = match["fixed"].split() + group
        repeat = len(group)
    else:
        names = text.split()
        repeat = 1 if names and names[-1].endswith("...") else 0
        if repeat:
            names[-1] = names[-1][:-3]
    if not names:
        raise Problem(f"no roles in {column}; write - for none")
    if len(names) > ROLES_MAX:
        raise Problem(f"{column}: more than {ROLES_MAX} roles")
    for name in names:
        if name not in roles:
            raise Problem(f"{column}: unknown role '{name}'")
        if name != "unused" and names.count(name) > 1:
            raise Problem(f"{column}: role '{name}' twice")
    return names, repeat


def parse_line(text, words):
    fields = text.split("\t")
    if len(fields) != len(COLUMNS):
        raise Problem(f"{len(fields)} columns instead of {len(COLUMNS)} ({', '.join(COLUMNS)})")
    for name, field in zip(COLUMNS, fields):
        if field != field.strip() or not field:
            raise Problem(f"{name}: empty, or blanks around it")
        if '"' in field or "\\" in field:
            raise Problem(f"{name}: quote or backslash")
    line = dict(zip(COLUMNS, fields))
    for name in ("sha1", "normal form"):
        if line[name] != "-" and not HEX40.fullmatch(line[name]):
            raise Problem(f"{name}: '{line[name]}' is neither 40 lower-case hexadecimal digits nor -")
    if line["sha1"] == "-" and line["normal form"] == "-":
        raise Problem("neither sha1 nor normal form")
    if line["operation"] not in words["operation"]:
        raise Problem(f"unknown operation '{line['operation']}'")
    if line["reply map"] not in words["reply_map"]:
        raise Problem(f"unknown reply map '{line['reply map']}'")
    given = [] if line["traits"] == "-" else line["traits"].split()
    for trait in given:
        if trait not in words["traits"]:
            raise Problem(f"unknown trait '{trait}'")
    # Designated initialisers want the order of the declaration.
    line["traits"] = [trait for trait in words["traits"] if trait in given]
    for name in ("keys", "arguments"):
        line[name] = parse_layout(name, line[name], words["role"])
    return line


def meaning(line):
    return (line["operation"], line["traits"], line["reply map"], line["keys"], line["arguments"])


def read_table(path, words):
    lines, problems = [], []
    shas, forms = {}, {}
    with open(path, encoding="ascii") as file:
        for number, text in enumerate(file, 1):
            text = text.rstrip("\n")
            if not text or text.startswith("#"):
                continue
            try:
                line = parse_line(text, words)
                sha, form = line["sha1"], line["normal form"]
                if sha in shas:
                    raise Problem(f"sha1 {sha} is on line {shas[sha]} already")
                if form in forms and meaning(forms[form][1]) != meaning(line):
                    raise Problem(f"the normal form is that of line {forms[form][0]}, the meaning is not")
                if sha == "-" and form in forms:
                    raise Problem(f"the normal form is on line {forms[form][0]} already")
                if sha != "-":
                    shas[sha] = number
                if form != "-":
                    forms.setdefault(form, (number, line))
                lines.append(line)
            except Problem as problem:
                problems.append(f"{path}:{number}: {problem}")
    if not problems and (not shas or not forms):
        problems.append(f"{path}:1: no scripts, or none with a normal form")
    return lines, problems


def cpp_digest(sha):
    return "{{" + ", ".join("0x" + sha[i:i + 2] for i in range(0, 40, 2)) + "}}"


def cpp_layout(layout):
    roles, group = layout
    if not roles:
        return "{}"
    listed = ", ".join(f"role::{name}" for name in roles)
    return f"{{.roles = {{{listed}}}, .count = {len(roles)}, .group = {group}}}"


def cpp_script(line):
    traits = ", ".join(f".{trait} = true" for trait in line["traits"])
    return ("    {.op = operation::" + line["operation"] + ", .replies = reply_map::" + line["reply map"] +
            ", .behaviour = {" + traits + "}, .keys = " + cpp_layout(line["keys"]) +
            ", .arguments = " + cpp_layout(line["arguments"]) + ",\n"
            f'     .library = "{line["library"]}", .script = "{line["script"]}", '
            f'.versions = "{line["versions"]}"}},\n')


def cpp_index(name, entries):
    rows = "".join(f"    {{{cpp_digest(sha)}, &scripts[{index}]}},\n" for sha, index in sorted(entries.items()))
    return f"inline constexpr listed_script {name}[] = {{\n{rows}}};\n\n"


def cpp_names(name, names):
    return (f"inline constexpr std::string_view {name}[] = {{\n" +
            "".join(f'    "{each}",\n' for each in names) + "};\n\n")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    table, output, *headers = sys.argv[1:]
    text = ""
    for header in headers:
        with open(header, encoding="ascii") as file:
            text += without_comments(file.read())
    words = {enum: enumerators(text, enum) for enum in ("operation", "reply_map", "role")}
    words["traits"] = flags(text, "traits")
    lines, problems = read_table(table, words)
    if problems:
        sys.exit("\n".join(problems))

    shas = {line["sha1"]: i for i, line in enumerate(lines) if line["sha1"] != "-"}
    forms = {}
    for i, line in enumerate(lines):
        if line["normal form"] != "-":
            forms.setdefault(line["normal form"], i)
    with open(output, "w", encoding="ascii") as file:
        file.write("#pragma once\n\n// Generated from scripts.tsv by generate.py. Do not edit.\n\n"
                   "#include <string_view>\n\n"
                   '#include "proxy/idioms/known_script.hh"\n#include "proxy/idioms/recogniser.hh"\n\n'
                   "namespace lockkeeper::proxy::idioms::generated {\n\n")
        file.write("inline constexpr known_script scripts[] = {\n")
        file.write("".join(map(cpp_script, lines)))
        file.write("};\n\n")
        file.write(cpp_index("by_sha", shas))
        file.write(cpp_index("by_normal_form", forms))
        file.write(cpp_names("operation_names", words["operation"]))
        file.write(cpp_names("reply_map_names", words["reply_map"]))
        file.write("}  // namespace lockkeeper::proxy::idioms::generated\n")


if __name__ == "__main__":
    main()
