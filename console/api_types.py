#!/usr/bin/env python3
"""Writes TypeScript types of the messages in proto/subak/v1, as proto3 JSON has them.

  console/api_types.py PROTO_FOLDER OUT.d.ts

Each field is optional, because proto3 JSON leaves out fields with their default value. 64-bit
integers are strings, enums are the names of their values, timestamps and durations are strings.
"""

import os
import re
import sys

SCALARS = {
    "double": 'number | "Infinity" | "-Infinity" | "NaN"', "float": "number", "bool": "boolean", "string": "string",
    "bytes": "string", "int32": "number", "uint32": "number", "sint32": "number", "fixed32": "number",
    "sfixed32": "number", "int64": "string", "uint64": "string", "sint64": "string", "fixed64": "string",
    "sfixed64": "string", "google.protobuf.Timestamp": "string", "google.protobuf.Duration": "string",
    "google.protobuf.FieldMask": "string", "google.rpc.Status": "{ code?: number; message?: string }",
}  # fmt: skip
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|[\w.]+|[{}=;<>,()\[\]-]', re.S)
FIELD_END = {";"}


class ProtoError(Exception):
    pass


def json_name(name):
    """Returns protobuf's JSON name: "page_size" becomes "pageSize"."""
    return re.sub(r"_(\w)", lambda found: found.group(1).upper(), name)


class Reader:
    """Reads the declarations of one file. Collects messages, enums and methods by full name."""

    def __init__(self, text, where):
        self.tokens = [t for t in TOKEN.findall(text) if not t.startswith(("//", "/*"))]
        self.at, self.where = 0, where
        self.messages, self.enums, self.methods = {}, {}, {}

    def next(self, want=None):
        if self.at >= len(self.tokens):
            raise ProtoError(f"{self.where}: ends within a declaration")
        token = self.tokens[self.at]
        self.at += 1
        if want is not None and token != want:
            raise ProtoError(f"{self.where}: found {token!r}, want {want!r}")
        return token

    def skip_statement(self):
        while self.next() not in FIELD_END:
            pass

    def file(self):
        while self.at < len(self.tokens):
            word = self.next()
            if word == "message":
                self.message("")
            elif word == "enum":
                self.enum("")
            elif word == "service":
                self.service()
            elif word in ("syntax", "package", "import", "option"):
                self.skip_statement()
            else:
                raise ProtoError(f"{self.where}: {word!r} is no declaration that api_types.py knows")

    def enum(self, scope):
        name, values = scope + self.next(), []
        self.next("{")
        while (word := self.next()) != "}":
            if word not in ("option", "reserved"):
                values.append(word)
            self.skip_statement()
        self.enums[name] = values

    def message(self, scope):
        name, fields = scope + self.next(), []
        self.next("{")
        self.fields(name, fields)
        self.messages[name] = fields

    def fields(self, name, fields):
        while (word := self.next()) != "}":
            if word == "message":
                self.message(name + ".")
            elif word == "enum":
                self.enum(name + ".")
            elif word == "oneof":
                self.next()
                self.next("{")
                self.fields(name, fields)
            elif word in ("reserved", "option"):
                self.skip_statement()
            else:
                self.field(word, fields)

    def field(self, word, fields):
        repeated = word == "repeated"
        kind = self.next() if word in ("repeated", "optional") else word
        if kind == "map":
            self.next("<")
            key = self.next()
            self.next(",")
            kind = ("map", key, self.next())
            self.next(">")
        field = self.next()
        self.next("=")
        self.skip_statement()
        fields.append((field, kind, repeated))

    def service(self):
        name = self.next()
        self.next("{")
        while (word := self.next()) != "}":
            if word != "rpc":
                raise ProtoError(f"{self.where}: found {word!r} in service {name}, want rpc")
            method, sides = self.next(), []
            for end in (("returns",), (";", "{")):
                self.next("(")
                words = [self.next()]
                while words[-1] != ")":
                    words.append(self.next())
                sides.append(words[:-1])
                if self.next() == "{" and "{" in end:
                    self.next("}")
            if not any(side[0] == "stream" for side in sides):
                self.methods[f"{name}/{method}"] = (sides[0][0], sides[1][0])


def ts_name(full):
    return full.replace(".", "_")


def resolve(kind, scope, known):
    """Finds the message or enum of this name: the innermost scope first."""
    parts = scope.split(".")
    for depth in range(len(parts), -1, -1):
        full = ".".join([*parts[:depth], kind])
        if full in known:
            return ts_name(full)
    raise ProtoError(f"{scope}: no type {kind}")


def type_of(kind, scope, known):
    if isinstance(kind, tuple):
        return f"{{ [key: string]: {type_of(kind[2], scope, known)} }}"
    return SCALARS.get(kind) or resolve(kind.removeprefix("subak.v1."), scope, known)


def render(readers):
    messages, enums, methods = {}, {}, {}
    for reader in readers:
        messages.update(reader.messages)
        enums.update(reader.enums)
        methods.update(reader.methods)
    known = set(messages) | set(enums)
    lines = ["// Generated by console/api_types.py from proto/subak/v1. Do not edit."]
    for name in sorted(enums):
        lines.append(f"export type {ts_name(name)} =")
        lines += [f'  | "{value}"' for value in enums[name]]
        lines[-1] += ";"
    for name in sorted(messages):
        lines.append(f"export interface {ts_name(name)} {{")
        for field, kind, repeated in messages[name]:
            kind = type_of(kind, name, known)
            lines.append(f"  {json_name(field)}?: {f'({kind})[]' if repeated else kind};")
        lines.append("}")
    lines.append("export interface Methods {")
    for name in sorted(methods):
        request, answer = (type_of(side, "", known) for side in methods[name])
        lines.append(f'  "{name}": [{request}, {answer}];')
    lines.append("}")
    return "\n".join(lines) + "\n"


def main(folder, out):
    readers = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".proto"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                readers.append(Reader(file.read(), name))
            readers[-1].file()
    text = render(readers)
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except (ProtoError, TypeError) as error:
        sys.exit(f"api_types.py: {error}")
