# SPDX-License-Identifier: GPL-2.0
"""examine: superblocks in images; the bytes are those of superblock.py, not the driver's."""

import json
import os
import re
import shutil
import subprocess

import pytest
from superblock import image, superblock

UUID = "00010203:04050607:08090a0b:0c0d0e0f"


@pytest.fixture
def two(tmp_path):
    return [image(tmp_path / f"leg{role}", superblock(role)) for role in range(2)]


def examine(tool, *devices, code=0):
    return json.loads(tool.run("examine", "-J", *devices, code=code)[0])


def test_fields(tool, two):
    found = examine(tool, *two)
    assert found["schema"] == 1
    assert found["devices"][1] == {
        "device": str(two[1]), "size_bytes": 4 << 20, "block_bytes": 0,
        "result": "leg", "reason": None,
        "array_uuid": UUID, "device_uuid": ":".join(["d1d1d1d1"] * 4), "name": "host:db",
        "legs": 2, "role": 1, "chunk_bytes": 65536, "layout": 1, "data_offset_bytes": 1 << 20,
        "data_bytes": 6144 * 512, "share_bytes": 3 << 20, "logical_block_bytes": 0, "events": 7,
        "created": "2026-02-02T02:40:00Z", "updated": "2026-02-02T02:41:00Z"}
    assert found["arrays"] == [{"array_uuid": UUID, "complete": True, "reason": None,
                                "devices": [str(path) for path in two]}]


def test_text(tool, two):
    out, err = tool.run("examine", *two)
    assert not err
    lines = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    text = "\n".join(" ".join(line) for line in lines)
    for said in (f"{two[0]}: leg", "role 1 of 2", "chunk 65536 (64 KiB)", f"array uuid {UUID}",
                 "layout original", "events 7", "created 2026-02-02T02:40:00Z",
                 f"array {UUID}: complete", f"role 1 {two[1]}"):
        assert said in text, said


def test_the_name_is_that_of_somebody_else(tool, tmp_path):
    """Nothing of it reaches the terminal as a command, or JSON as no text."""
    path = image(tmp_path / "leg", superblock(0, legs=1, name=b"a\x1b[2J\xff\n\tb\xc3\xa4"))
    device, = examine(tool, path)["devices"]
    assert device["name"] == "a?[2J???b\u00e4"
    assert "name          a?[2J???b\u00e4\n" in tool.run("examine", path)[0]


def test_a_path_that_is_not_utf_8(tool, tmp_path):
    path = image(tmp_path / "leg\udcff\x1b", superblock(0, legs=1))
    out, _ = tool.run("examine", "--json", path)
    # All of it is text.
    found = json.loads(out.encode())
    assert found["devices"][0]["device"] == f"{tmp_path}/leg??"
    assert found["arrays"][0]["devices"] == [f"{tmp_path}/leg??"]


def test_the_order_is_that_of_the_roles(tool, two):
    array, = examine(tool, *reversed(two))["arrays"]
    assert array["complete"] and array["devices"] == [str(path) for path in two]


@pytest.mark.parametrize("fields, result, said", [
    ({"wrong_sum": True}, "damaged", "its checksum is wrong"),
    ({"data_size": 1 << 20}, "damaged", "data size does not fit the leg"),
    ({"max_dev": 4000}, "damaged", "superblock is truncated"),
    ({"data_offset": 8}, "damaged", "data offset is in the superblock"),
    ({"level": 1}, "foreign", "array is not a raid0"),
    ({"major": 0}, "foreign", "superblock is not of version 1.2"),
    ({"super_offset": 0}, "foreign", "superblock is not of version 1.2"),
    ({"chunk": 3}, "foreign", "chunk is not a power of two"),
    ({"legs": 65}, "foreign", "array has no or too many members"),
    ({"layout": 3}, "foreign", "unknown raid0 layout"),
    ({"features": 4 | 4096}, "foreign", "a reshape is in progress"),
    ({"dev_number": 5}, "foreign", "not an active member of its array"),
    ({"pad0": 1}, "foreign", "reserved bytes"),
    ({"logical_block": 520}, "foreign", "logical block is not a power of two"),
])
def test_what_cannot_be_used(tool, tmp_path, fields, result, said):
    device, = examine(tool, image(tmp_path / "leg", superblock(0, **fields)), code=1)["devices"]
    assert device["result"] == result and said in device["reason"]


def test_a_logical_block_as_of_linux_6_19(tool, tmp_path):
    path = image(tmp_path / "leg", superblock(0, legs=1, logical_block=512))
    device, = examine(tool, path)["devices"]
    assert device["result"] == "leg"


@pytest.mark.parametrize("blocks, told, said", [
    ((512, 512), 0, None), ((4096, 4096), 512, None), ((512, 512), 512, None), ((0, 0), 4096, None),
    ((512, 4096), 0, "leg 1 has blocks of 4096 bytes, leg 0 of 512"),
    ((512, 512), 4096, "the superblocks say logical blocks of 4096 bytes, but the legs have 512"),
    # Of one of them there is no more than an image.
    ((0, 512), 4096, "the superblocks say logical blocks of 4096 bytes, but the legs have 512"),
])
def test_blocks_of_devices(tool, tmp_path, blocks, told, said):
    """The driver refuses them when the volume comes up."""
    legs = []
    for role, size in enumerate(blocks):
        legs.append(image(tmp_path / f"leg{role}", superblock(role, logical_block=told)))
        if size:
            tool.put(f"fake/block/leg{role}", size)
    found = examine(tool, *legs, code=int(bool(said)))
    array, = found["arrays"]
    assert array["reason"] == said and array["complete"] == (not said)
    assert [device["block_bytes"] for device in found["devices"]] == list(blocks)
    assert found["devices"][0]["logical_block_bytes"] == told
    text = tool.run("examine", *legs, code=int(bool(said)))[0]
    assert ("device block" in text) == any(blocks) and ("logical block " in text) == bool(told)


def test_a_leg_that_has_shrunk_says_what_it_was(tool, tmp_path):
    path = image(tmp_path / "leg", superblock(0))
    os.truncate(path, 2 << 20)
    device, = examine(tool, path, code=1)["devices"]
    assert device["result"] == "damaged" and device["data_bytes"] == 6144 * 512
    assert device["size_bytes"] == 2 << 20


@pytest.mark.parametrize("block, at, what", [
    (b"LABELONE", 512, "an LVM label"), (b"LUKS\xba\xbe", 0, "a LUKS header"),
    (b"\xfc\x4e\x2b\xa9", 0, "an MD superblock (version 1.1)"),
    (b"SKUL\xba\xbe", 16 << 10, "a LUKS header"), (b"SKUL\xba\xbe", 512 << 10, "a LUKS header"),
    (b"SWAPSPACE2", 65526, "swap space"),
    (b"\0\0\0\x07version", (4 << 20) - (256 << 10) + 16404, "a ZFS label"),
])
def test_something_else_is_there(tool, tmp_path, block, at, what):
    path = image(tmp_path / "disk", block, at=at)
    device, = examine(tool, path, code=1)["devices"]
    assert device["result"] == "foreign" and device["reason"] == what
    assert f"{path}: foreign: it holds {what}" in tool.run("examine", path, code=1)[0]


@pytest.mark.parametrize("bytes_there", [0, 100, 4096, 4196, 1 << 20])
def test_nothing_is_there(tool, tmp_path, bytes_there):
    path = tmp_path / "empty"
    path.write_bytes(bytes(bytes_there))
    found = examine(tool, path, code=1)
    device, = found["devices"]
    assert device["result"] in ("none", "damaged") and "array_uuid" not in device
    assert (device["result"] == "none") == (bytes_there != 4196)
    assert found["arrays"] == []


@pytest.mark.parametrize("change, said", [
    ({"role": 0}, "leg 0: repeated, two of the devices have its role"),
    ({"role": 1, "events": 9}, "event count is 7, on leg 1 it is 9, the leg is stale"),
    ({"role": 1, "chunk": 256}, "chunk in sectors is"),
])
def test_legs_that_do_not_fit(tool, tmp_path, two, change, said):
    other = image(tmp_path / "other", superblock(**change))
    array, = examine(tool, two[0], other, code=1)["arrays"]
    assert not array["complete"] and said in array["reason"]


def test_a_leg_is_missing(tool, two):
    array, = examine(tool, two[1], code=1)["arrays"]
    assert array["reason"] == "leg 0: missing, the array has 2 legs, 1 are given"


@pytest.mark.parametrize("given, said", [
    # As leg 2 is not leg 1, though it is the second one that is given.
    (((0, 7), (2, 9)), "leg 1: missing, the array has 3 legs, 2 are given"),
    (((1, 7), (2, 9)), "leg 0: missing, the array has 3 legs, 2 are given"),
    (((0, 7), (1, 9)), "leg 0: event count is 7, on leg 1 it is 9, the leg is stale"),
    (((0, 9), (1, 9), (2, 7)), "leg 2: event count is 7, on leg 0 it is 9, the leg is stale"),
    (((1, 7), (1, 9), (0, 9)), "leg 1: repeated, two of the devices have its role"),
])
def test_the_leg_that_is_named_is_a_role(tool, tmp_path, given, said):
    legs = [image(tmp_path / f"leg{number}", superblock(role, legs=3, events=events))
            for number, (role, events) in enumerate(given)]
    array, = examine(tool, *legs, code=1)["arrays"]
    assert array["reason"] == said and not array["complete"]
    assert f": {said}\n" in tool.run("examine", *reversed(legs), code=1)[0]


def test_blocks_of_a_device_when_a_leg_is_missing(tool, tmp_path):
    legs = [image(tmp_path / f"leg{role}", superblock(role, legs=3)) for role in (0, 2)]
    for size, leg in zip((512, 4096), legs, strict=True):
        tool.put(f"fake/block/{leg.name}", size)
    array, = examine(tool, *legs, code=1)["arrays"]
    assert array["reason"] == "leg 1: missing, the array has 3 legs, 2 are given"


def test_two_arrays(tool, tmp_path, two):
    one = image(tmp_path / "one", superblock(0, legs=1, array_uuid=b"\xaa" * 16))
    arrays = examine(tool, two[0], one, two[1])["arrays"]
    assert [array["complete"] for array in arrays] == [True, True]
    assert arrays[1]["devices"] == [str(one)]


def test_what_cannot_be_read(tool, tmp_path, two):
    out, err = tool.run("examine", tmp_path / "no", *two, code=1)
    assert "no: No such file" in err and f"array {UUID}: complete" in out
    assert "neither a block device nor an image" in tool.run("examine", tmp_path, code=1)[1]
    assert "neither a block device" in tool.run("examine", "/dev/null", code=1)[1]


def test_nothing_is_written(tool, two):
    before = [path.read_bytes() for path in two]
    for path in two:
        path.chmod(0o400)
    examine(tool, *two)
    assert [path.read_bytes() for path in two] == before


@pytest.mark.parametrize("words, said", [
    ([], "which device? a name is needed"), (["--force", "x"], "unknown option --force"),
])
def test_wrong_usage(tool, words, said):
    assert said in tool.run("examine", *words, code=2)[1]


@pytest.mark.skipif(not shutil.which("mdadm"), reason="mdadm is not installed")
def test_mdadm_reads_the_same(tool, two):
    """The test's own bytes are what mdadm takes for a superblock, with the same numbers."""
    done = subprocess.run(["mdadm", "--examine", two[1]], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    said = dict(re.findall(r"^ *(\S.*?) : (.*?)$", done.stdout, re.MULTILINE))
    device = examine(tool, two[1], code=1)["devices"][0]
    assert said["Array UUID"] == device["array_uuid"]
    assert said["Device UUID"] == device["device_uuid"]
    assert said["Chunk Size"] == "64K" and said["Events"] == str(device["events"])
    assert said["Device Role"] == "Active device 1" and "correct" in said["Checksum"]
