#!/usr/bin/env python3
"""console/api_types.py: TypeScript types of proto messages.

  api_types_test.py TREE
"""

import os
import sys
import unittest

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."
sys.path.insert(0, os.path.join(TREE, "console"))
import api_types  # noqa: E402

PROTO = """
syntax = "proto3";  // a comment with { and "
package subak.v1;
import "google/protobuf/timestamp.proto";
/* message NotThis { string a = 1; } */
enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; }
service Things {
  // Returns one; returns (Other) is text.
  rpc GetThing(GetThingRequest) returns (Thing);
  rpc WatchThings(GetThingRequest) returns (stream Thing);
  rpc SetThing(subak.v1.Thing) returns (Thing) {}
}
message GetThingRequest { string thing_id = 1 [deprecated = true]; reserved 4, 5; }
message Thing {
  message Part { int64 size = 1; Color color = 2; }
  repeated Part parts = 1;
  optional int32 page_size = 2;
  oneof kind { string text = 3; Thing.Part best = 4; }
  map<string, Part> by_name = 5;
  google.protobuf.Timestamp start_time = 6;
  repeated fixed64 digest_2 = 7;
  double level = 8;
}
"""


def types_of(text):
    reader = api_types.Reader(text, "test.proto")
    reader.file()
    return api_types.render([reader])


class ApiTypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = types_of(PROTO)

    def block(self, begin):
        at = self.text.index(begin)
        return self.text[at:self.text.index("\n}", at) + 1]

    def test_fields_have_the_names_and_types_of_proto3_json(self):
        thing = self.block("export interface Thing {")
        self.assertIn("  parts?: (Thing_Part)[];\n", thing)
        self.assertIn("  pageSize?: number;\n", thing)
        self.assertIn("  startTime?: string;\n", thing)
        self.assertIn("  digest2?: (string)[];\n", thing)
        part = self.block("export interface Thing_Part {")
        self.assertIn("  size?: string;\n", part)
        self.assertIn("  color?: Color;\n", part)

    def test_members_of_a_oneof_are_fields(self):
        self.assertIn("  text?: string;\n  best?: Thing_Part;\n", self.text)

    def test_a_map_is_an_object(self):
        self.assertIn("  byName?: { [key: string]: Thing_Part };\n", self.text)

    def test_a_double_may_be_infinite(self):
        self.assertIn('  level?: number | "Infinity" | "-Infinity" | "NaN";\n', self.text)

    def test_an_enum_is_the_names_of_its_values(self):
        self.assertIn('export type Color =\n  | "COLOR_UNSPECIFIED"\n  | "COLOR_RED";\n', self.text)

    def test_unary_methods_alone_can_be_called(self):
        self.assertIn('  "Things/GetThing": [GetThingRequest, Thing];\n', self.text)
        self.assertIn('  "Things/SetThing": [Thing, Thing];\n', self.text)
        self.assertNotIn("WatchThings", self.text)

    def test_comments_are_no_declarations(self):
        self.assertNotIn("NotThis", self.text)

    def test_what_is_not_understood_is_refused(self):
        for text in ("extend Foo { int32 a = 1; }", "message A { string a = 1", "message A { Missing a = 1; }"):
            with self.assertRaises(api_types.ProtoError, msg=text):
                types_of(text)

    def test_the_protos_of_this_tree_are_understood(self):
        folder = os.path.join(TREE, "proto", "subak", "v1")
        readers = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                readers.append(api_types.Reader(file.read(), name))
            readers[-1].file()
        text = api_types.render(readers)
        self.assertIn('  "JobService/ListQueue": [ListQueueRequest, ListQueueResponse];\n', text)
        self.assertIn("export interface RankStep_Entry {\n  path?: string;\n", text)


if __name__ == "__main__":
    unittest.main()
