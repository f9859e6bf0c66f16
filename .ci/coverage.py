"""Prints the line coverage of each room, and the files that miss most."""

import collections
import json
import subprocess
import sys

llvm_cov, artifacts, profile = sys.argv[1:]
programs = []
with open(artifacts) as lines:
    for line in lines:
        program = json.loads(line).get("executable")
        if program:
            programs.append(program)
command = [llvm_cov, "export", "-summary-only", f"-instr-profile={profile}"]
command.append("-ignore-filename-regex=(/\\.cargo/|/rustc/|/tests/|/tests\\.rs|/benches/|/examples/)")
command += programs[:1] + [part for program in programs[1:] for part in ("-object", program)]
exported = json.loads(subprocess.check_output(command))["data"][0]
root = subprocess.check_output(["git", "rev-parse", "--show-toplevel"], text=True).strip() + "/"
rooms = collections.defaultdict(lambda: [0, 0])
missed = []
for file in exported["files"]:
    name = file["filename"].removeprefix(root)
    lines = file["summary"]["lines"]
    room = "core/src/conformance" if "/conformance/" in name else name.split("/")[0]
    rooms[room][0] += lines["covered"]
    rooms[room][1] += lines["count"]
    missed.append((lines["count"] - lines["covered"], name, lines["count"]))
print("| room | lines | covered |\n|---|---:|---:|")
for room, (covered, count) in sorted(rooms.items()):
    print(f"| `{room}` | {count} | {100 * covered / count:.1f} % |")
print("\nMost missed:")
for lines, name, count in sorted(missed, reverse=True)[:20]:
    print(f"  {name}: {lines} of {count}")
