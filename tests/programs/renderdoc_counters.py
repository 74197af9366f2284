"""Captures a frame of vkcube with RenderDoc, and prints and checks the counters that RenderDoc finds.

Usage: renderdoc_counters.py capture PATH | fetch CAPTURE.rdc
"""

import sys
import time

import renderdoc as rd


def capture(path):
    options = rd.GetDefaultCaptureOptions()
    started = rd.ExecuteAndInject("/usr/bin/vkcube", "", "--c 2000", [], path, options, False)
    control = rd.CreateTargetControl("", started.ident, "tally", True)
    time.sleep(1)  # until it draws
    control.TriggerCapture(1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        message = control.ReceiveMessage(None)
        if message.type == rd.TargetControlMessageType.NewCapture:
            print(message.newCapture.path)
            return
    sys.exit("no frame was captured")


def value_of(result, description):
    wide = description.resultByteWidth == 8
    if description.resultType == rd.CompType.UInt:
        return result.value.u64 if wide else result.value.u32
    return result.value.d if wide else result.value.f


def fetch(path):
    rd.InitialiseReplay(rd.GlobalEnvironment(), [])
    file = rd.OpenCaptureFile()
    file.OpenFile(path, "", None)
    result, replay = file.OpenCapture(rd.ReplayOptions(), None)
    counters = replay.EnumerateCounters()
    ours = [c for c in counters if rd.IsVulkanExtendedCounter(c)]
    descriptions = {c: replay.DescribeCounter(c) for c in ours}
    # The event of the draw is that with vertices.
    events = {}
    for fetched in replay.FetchCounters(ours):
        description = descriptions[fetched.counter]
        events.setdefault(fetched.eventId, {})[description.name] = value_of(fetched, description)
    replay.Shutdown()
    file.Shutdown()
    rd.ShutdownReplay()
    draw = next(values for values in events.values() if values.get("Vertices"))
    for name, value in draw.items():
        print(f"{name:40} {value:g}")
    return draw


def check(draw):
    assert len(draw) >= 40, f"{len(draw)} counters"
    assert draw["Draws"] == 1
    assert draw["Vertices"] == draw["Vertex shader invocations"] == 36
    assert draw["Primitives"] == 12
    assert draw["Fragment shader invocations"] == draw["Sample coverage"] > 0
    assert draw["Texture samples"] == draw["Fragment shader invocations"]
    assert 0 < draw["Active lanes"] <= 100
    assert draw["GPU time"] > 0


if sys.argv[1] == "capture":
    capture(sys.argv[2])
else:
    check(fetch(sys.argv[2]))
