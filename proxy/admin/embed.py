#!/usr/bin/env python3
"""Writes the files of the live page as a C++ source, so that the program needs no other file.

usage: embed.py OUTPUT.cc page.html page.css page.js
"""

import os
import sys


def literal(data):
    """Bytes as numbers: a literal of text has a limit on its length, and rules about what may stand in it."""
    lines = [data[i:i + 20] for i in range(0, len(data), 20)]
    return ",\n    ".join(", ".join(str(byte) for byte in line) for line in lines)


def main():
    output, *files = sys.argv[1:]
    parts = ['#include "proxy/admin/assets.hh"\n', "namespace lockkeeper::proxy::admin {\n"]
    for path in files:
        name = os.path.basename(path).replace(".", "_")
        with open(path, "rb") as file:
            data = file.read()
        data.decode("utf-8")
        parts.append(
            f"namespace {{\nconstexpr unsigned char {name}_bytes[] = {{\n    {literal(data)}}};\n}}  // namespace\n"
            f"std::string_view {name}() {{\n"
            f"    return {{reinterpret_cast<const char*>({name}_bytes), sizeof({name}_bytes)}};\n}}\n"
        )
    parts.append("}  // namespace lockkeeper::proxy::admin\n")
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))


if __name__ == "__main__":
    main()
