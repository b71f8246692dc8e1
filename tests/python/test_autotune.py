"""The Python package against the stand-in driver: tests/CMakeLists.txt runs it; pytest does, too, in the same environment."""

import ctypes
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import autotune
from autotune import _arrays, _kernels, _library, _lookup

SOURCE = Path(os.environ["SOURCE_DIR"])
TEMPLATES = SOURCE / "tests/standin/templates"
GPU = autotune.Gpu("Stand-in H200", 90, 132)
cuda = ctypes.CDLL("libcuda.so.1")


class Array:
    """Device memory, which the stand-in has in host pages."""

    def __init__(self, ctype, values, typestr, **changes):
        self.count, self.data = len(values), ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.data), ctypes.c_size_t(max(1, ctypes.sizeof(ctype) * self.count))) == 0
        self.host = (ctype * self.count).from_address(self.data.value)
        self.host[:] = values
        self.__cuda_array_interface__ = {"shape": (self.count,), "typestr": typestr, "data": (self.data.value, False),
                                         "version": 3, **changes}


def floats(values, **changes):
    return Array(ctypes.c_float, values, "<f4", **changes)


class Shared:
    """DLPack alone: bytes of another array."""

    def __init__(self, array, device=(2, 0), code=2, bits=32, stride=1):
        self.array, self.device = array, device
        self.shape, self.strides = (ctypes.c_int64 * 1)(array.count), (ctypes.c_int64 * 1)(stride)
        self.tensor = _arrays._DLTensor(array.data.value, *device, 1, code, bits, 1, self.shape, self.strides, 0)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def setUpModule():
    global folder, context
    os.environ.setdefault("AUTOTUNE_CACHE", os.path.join(os.environ["BUILD_DIR"], "tests/cubin_of_python"))
    folder = Path(tempfile.mkdtemp())
    unittest.addModuleCleanup(shutil.rmtree, folder)
    unittest.addModuleCleanup(os.chdir, "/")
    os.environ["AUTOTUNE_LOCK_FOLDER"] = str(folder / "locks")
    os.chdir(folder)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    for name, n in (("scale", 1000), ("sum", 10000)):
        autotune.tune(template=TEMPLATES / f"{name}.ini", set={"n": n}, quiet=True)
    subprocess.run(["autotune", "bundle", "--templates", TEMPLATES, "--output", "bundle"], check=True, capture_output=True)


class Structures(unittest.TestCase):
    def test_they_are_those_of_the_headers(self):
        lines, here = [], []
        for name, structure in vars(_library).items():
            if not (isinstance(structure, type) and issubclass(structure, ctypes.Structure)):
                continue
            struct = "struct tuned" + re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), name[1:])
            lines.append(f"sizeof({struct})")
            here.append(ctypes.sizeof(structure))
            for member, _ in structure._fields_:
                lines.append(f"offsetof({struct}, {member.rstrip('_')})")
                here.append(getattr(structure, member).offset)
        for word, rule in {"exact": "EXACT", "cover": "COVER", "size": "NEAREST_SIZE", "gpu": "NEAREST_GPU", "family": "SAME_FAMILY",
                           "defaults": "DEFAULTS"}.items():
            lines.append(f"(size_t)TUNED_{rule}")
            here.append(_lookup.LIMITS[word])
        lines += ["(size_t)-TUNED_NOT_FOUND", "(size_t)-TUNED_INVALID", "(size_t)TUNED_COVER", "(size_t)TUNED_WORD", "(size_t)TUNED_SCRATCH"]
        here += [-_library.NOT_FOUND, -_library.INVALID, _library.COVER_RULE, _library._WORD, _kernels._ACCESSES.index("scratch")]
        Path("sizes.c").write_text("#include <autotune/tuned_kernel.h>\n#include <stdio.h>\nint main(void)\n{\n" +
                                   "".join(f'    printf("%zu\\n", {line});\n' for line in lines) + "}\n")
        subprocess.run(["cc", "-I", SOURCE / "tuner/include", "sizes.c", "-o", "sizes"], check=True)
        self.assertEqual(list(map(int, subprocess.check_output(["./sizes"]).split())), here)


class LookUps(unittest.TestCase):
    def setUp(self):
        cuda.cuCtxSetCurrent(None)
        self.table = autotune.load("results/tuned.ini")

    def test_an_answer_is_a_mapping_with_its_rule(self):
        match = self.table.find("scale", n=1000, factor=1.5, gpu=GPU)
        self.assertEqual(match["block_size"], 256)
        self.assertEqual(dict(match), match.parameters)
        self.assertEqual((match.rule, match.loss, match.gpu), ("same GPU, same size", None, GPU))
        self.assertEqual(match.problem, {"n": 1000, "factor": 1.5})
        self.assertIn("-DMODE=MODE_GOOD", match.defines)
        self.assertIn("scale for n=1000 factor=1.5", match.explanation)
        self.assertGreater(match.median_ns, 0)
        self.assertEqual(self.table.find("scale", n=2000, factor=1.5, gpu=GPU).rule, "same GPU, nearest size")

    def test_an_answer_of_a_cover_has_its_expected_loss(self):
        match = autotune.load(SOURCE / "published/tuned.ini").find(
            "reduce_sum", n=30_000_000, value_type="float", gpu=autotune.Gpu("NVIDIA H100 80GB HBM3", 90, 132))
        self.assertEqual(match.rule, "same GPU, in the range of a cover")
        self.assertIn(f"expected loss {match.loss:.3g} %,", match.explanation)

    def test_the_same_question_has_the_same_answer_which_nobody_can_change(self):
        ask = lambda **more: self.table.find("scale", n=1000, factor=1.5, gpu=GPU, **more)
        match = ask()
        self.assertIs(ask(), match)
        match.parameters["block_size"] = match.problem["n"] = 7
        self.assertEqual((ask()["block_size"], ask().problem["n"]), (256, 1000))
        self.assertIsNot(ask(limit="exact"), match)
        self.assertIsNot(self.table.find("scale", n=1000.0, factor=1.5, gpu=GPU), match)
        self.assertIsNot(autotune.load("results/tuned.ini").find("scale", n=1000, factor=1.5, gpu=GPU), match)
        self.assertIsNot(self.table.find("scale", n=1000, factor=1.5, gpu=GPU._replace(sm_count=66)), match)

    def test_kept_answers_are_bounded_and_of_their_version(self):
        for n in range(5000):
            self.table.find("scale", n=n, factor=1.5, gpu=GPU)
        self.assertLessEqual(len(self.table._answers), 4096)
        with self.assertRaises(autotune.NotFound):
            self.table.find("scale", n=1, factor=1.5, gpu=GPU, template_hash="0" * 32)
        self.assertEqual(autotune.load("bundle").find("scale", n=1, factor=1.5, gpu=GPU, template_hash="0" * 32).rule,
                         "defaults of the template")

    def test_errors_are_the_librarys(self):
        Path("bad.ini").write_text("[scale 1]\nkernel = scale\nkernel = scale\n")
        with self.assertRaises(autotune.Error) as caught:
            autotune.load("bad.ini")
        self.assertEqual((caught.exception.file, caught.exception.line, caught.exception.code), ("bad.ini", 3, -2))
        self.assertIn("bad.ini:3: ", str(caught.exception))
        with self.assertRaisesRegex(autotune.NotFound, "no configuration of this kernel"):
            self.table.find("nothing", gpu=GPU)
        with self.assertRaisesRegex(autotune.Error, "no CUDA context is current"):
            self.table.find("scale", n=1000)
        for wrong in ({"n": True}, {"n": [1]}, {"n": None}):
            self.assertRaises(TypeError, self.table.find, "scale", wrong, gpu=GPU)
        self.assertRaises(OverflowError, self.table.find, "scale", n=1 << 63, gpu=GPU)
        self.assertRaises(ValueError, self.table.find, "scale", limit="near", gpu=GPU)

    def test_the_gpu_is_that_of_the_current_context(self):
        cuda.cuCtxSetCurrent(context)
        self.assertEqual(self.table.find("scale", n=1000, factor=1.5).gpu.sm_count, 132)
        cuda.cuCtxSetCurrent(None)
        self.assertRaises(autotune.Error, self.table.find, "scale", n=1000, factor=1.5)

    def test_after_close_answers_stay_and_questions_are_errors(self):
        match = self.table.find("scale", n=1000, factor=1.5, gpu=GPU)
        self.table.close()
        gc.collect()
        self.assertIn("-DBLOCK_SIZE=256", match.defines)
        self.assertRaisesRegex(autotune.Error, "closed", self.table.find, "scale", n=1000, factor=1.5, gpu=GPU)

    def test_threads_look_up_while_a_table_is_closed(self):
        def look():
            for n in range(2000):
                try:
                    self.assertEqual(self.table.find("scale", n=n, factor=1.5, gpu=GPU)["block_size"], 256)
                except autotune.Error as error:
                    self.assertIn("closed", str(error))
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.table.close()
        for thread in threads:
            thread.join()


class Kernels(unittest.TestCase):
    def setUp(self):
        cuda.cuCtxSetCurrent(context)
        self.kernels = autotune.kernels("bundle")
        self.addCleanup(self.kernels.close)
        self.scale, self.x, self.out = self.kernels["scale"], floats([1, 2, 3, 4]), floats([0] * 4)

    def result(self, out=None):
        cuda.cuCtxSynchronize()
        return list((out or self.out).host)

    def test_arrays_by_place_by_name_by_address_and_by_dlpack(self):
        ways = [((self.x, self.out), {}), ((self.x,), {"out": self.out}), ((Shared(self.x), Shared(self.out)), {}),
                ((self.x.data.value, self.out.data.value), {}), ((self.x,), {"out": autotune.Pointer(self.out.data.value)})]
        for arrays, named in ways:
            self.out.host[:] = [0] * 4
            self.scale(*arrays, n=4, factor=2.0, **named)
            self.assertEqual(self.result(), [2, 4, 6, 8])

    def test_a_scalar_changes_at_a_launch_and_is_not_remembered(self):
        for factor, expected in ((2.0, 2), (3, 3), (None, 1.5), (2.0, 2)):
            self.scale(self.x, self.out, n=4, **({} if factor is None else {"factor": factor}))
            self.assertEqual(self.result()[0], expected)
        self.assertEqual(len(self.kernels._loaded), 2)  # with a factor, and with the template's
        prepared = self.scale.prepare(self.x, self.out, n=4, factor=2.0)
        prepared(0, factor=5.0)
        self.assertEqual(self.result()[0], 5)
        prepared()
        self.assertEqual((self.result()[0], prepared.scalars["factor"]), (2, 2.0))
        self.assertRaisesRegex(autotune.Error, "'n'", prepared, n=3)

    def test_what_is_loaded_says_where_it_is_from_and_what_it_launches(self):
        prepared = self.scale.prepare(self.x, self.out, n=4)
        self.assertEqual((prepared.origin, prepared.match.rule), ("bundle", "same GPU, nearest size"))
        self.assertEqual((prepared.launches[0].entry, prepared.launches[0].block), ("scale_good", (256, 1, 1)))
        self.assertEqual([(b.name, b.type, b.bytes, b.access) for b in prepared.buffers],
                         [("in", "float", 16, "read"), ("out", "float", 16, "write")])
        self.assertEqual(self.kernels["sum"].prepare(Array(ctypes.c_double, [1] * 10, "<f8"), 1, n=10).match["blocks"], 4)

    def test_arrays_that_cannot_be_the_buffers(self):
        cases = [((self.x,), "buffer 'out' is missing"), ((self.x, self.out, self.out), "takes 2 arrays"),
                 ((self.x, floats([0] * 3)), "needs 16 bytes"),
                 ((self.x, Array(ctypes.c_int32, [0] * 4, "<i4")), "elements of type float, not int32"),
                 ((self.x, Shared(self.out, code=4, bits=16)), "not bfloat16"),
                 ((self.x, floats([0] * 8, shape=(4,), strides=(8,))), "contiguous"),
                 ((Shared(self.x, stride=2), self.out), "contiguous"),
                 ((self.x, floats([0] * 4, data=(self.out.data.value, True))), "read-only"),
                 ((Shared(self.x, (1, 0)), self.out), "in host memory"), ((Shared(self.x, (2, 1)), self.out), "on device 1"), ((self.x, [0] * 4), "not an array on the GPU")]
        for arrays, reason in cases:
            self.assertRaisesRegex(TypeError, reason, self.scale, *arrays, n=4)
        self.assertRaisesRegex(TypeError, "given twice", lambda: self.scale(self.x, self.out, out=self.out, n=4))
        self.assertRaisesRegex(TypeError, "no buffer 'output'", lambda: self.scale(self.x, output=self.out, n=4))
        self.scale(self.x, self.out, n=4, factor=2.0)  # an array that is longer, or has an odd stride in an extent of 1
        self.scale(floats([1] * 8), floats([0] * 4, shape=(1, 4), strides=(999, 4)), n=4, factor=2.0)

    def test_errors_are_the_librarys(self):
        with self.assertRaises(autotune.Error) as caught:
            self.scale(self.x, self.out, n=4, mode="nonsense", what=3)
        self.assertRegex(str(caught.exception), "what|mode")
        self.assertRaisesRegex(autotune.Error, "nothing.ini", self.kernels["nothing"], n=4)
        self.assertRaisesRegex(autotune.Error, "not a bundle", autotune.kernels, "results/tuned.ini")
        cuda.cuCtxSetCurrent(None)
        self.assertRaisesRegex(autotune.Error, "no CUDA context is current", autotune.kernels, "bundle")
        other = ctypes.c_void_p()
        self.assertEqual(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(other), 1), 0)
        cuda.cuCtxSetCurrent(other)
        self.assertRaisesRegex(autotune.Error, "another CUDA context is current", self.scale, self.x, self.out, n=4)

    def test_a_thread_without_a_context_gets_that_of_the_kernels(self):
        prepared = self.scale.prepare(self.x, self.out, n=4, factor=2.0)
        for call in (prepared, lambda: self.scale(self.x, self.out, n=4, factor=3.0)):
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
        self.assertEqual(self.result(), [3, 6, 9, 12])

    def test_each_stream_has_its_own_scratch_memory(self):
        x, out = Array(ctypes.c_double, range(100), "<f8"), Array(ctypes.c_double, [0], "<f8")
        stream = ctypes.c_void_p()
        self.assertEqual(cuda.cuStreamCreate(ctypes.byref(stream), 1), 0)
        prepared = self.kernels["sum"].prepare(x, out, n=100)
        for number in (0, stream.value, 0):
            out.host[0] = 0
            prepared(number)
            self.assertEqual(self.result(out), [4950])
        self.assertEqual(len(self.kernels._loaded), 2)
        self.scale(self.x, self.out, n=4, stream=stream.value), self.scale(self.x, self.out, n=4, stream=0)
        self.assertEqual(len(self.kernels._loaded), 3)  # which has none

    def test_streams_of_all_sorts(self):
        stream = ctypes.c_void_p()
        self.assertEqual(cuda.cuStreamCreate(ctypes.byref(stream), 1), 0)
        number = stream.value
        for members in ({"ptr": number}, {"cuda_stream": number}, {"__cuda_stream__": lambda _: (0, number)}, {"handle": stream}):
            prepared = self.scale.prepare(self.x, self.out, n=4, stream=type("Stream", (), members)())
            self.assertEqual(prepared.stream, number)
        own = floats([1] * 4, stream=number)
        self.assertEqual(self.scale.prepare(own, self.out, n=4).stream, number)  # that of the arrays' library
        self.assertEqual(self.scale.prepare(self.x, self.out, n=4).stream, 0)
        self.assertRaises(TypeError, self.scale, self.x, self.out, n=4, stream="0")

    def test_of_many_problems_the_latest_stay_and_nothing_is_used_after_close(self):
        few = autotune.kernels("bundle", keep=2)
        first = few["scale"].prepare(self.x, self.out, n=1, factor=2.0)
        for n in (2, 3, 4, 3):
            few["scale"](self.x, self.out, n=n, factor=2.0)
        self.assertEqual(len(few._loaded), 2)
        gc.collect()
        self.assertEqual(len(few._all), 3)
        first()
        self.assertEqual(self.result()[0], 2)
        few.close()
        for call in (first, lambda: few["scale"](self.x, self.out, n=1), lambda: few.table.find("scale", n=1)):
            self.assertRaisesRegex(autotune.Error, "closed", call)

    def test_kernels_are_freed_in_their_context_by_whoever_is_last(self):
        prepared = autotune.kernels("bundle")["scale"].prepare(self.x, self.out, n=4, factor=2.0)
        prepared()
        self.assertEqual(self.result(), [2, 4, 6, 8])
        loaded = prepared._at[1]
        freed = []
        library = loaded.owner.library
        original, library.free = library.free, lambda pointer: (freed.append(_library.Driver.loaded().context()), original(pointer))
        self.addCleanup(setattr, library, "free", original)
        cuda.cuCtxSetCurrent(None)
        del prepared, loaded
        gc.collect()
        self.assertEqual((freed, _library.Driver.loaded().context()), ([context.value], 0))


class Program(unittest.TestCase):
    def test_package_and_program_are_of_one_version(self):
        self.assertEqual(subprocess.check_output(["autotune", "--version"], text=True), f"autotune {autotune.__version__}\n")

    def test_tune_returns_the_winners_and_prints_progress(self):
        code = ("import autotune; rows = autotune.tune(%r, results='r', tuned='t.ini', kernel=['scale']); "
                "row = rows[0]; print(row['parameters'], row['problem'], row['median_ns'] > 0, len(rows.studies[0]['variants']))")
        result = subprocess.run([sys.executable, "-c", code % str(SOURCE / "tests/standin/scale.ini")], capture_output=True,
                                text=True, cwd=folder)
        self.assertIn("{'block_size': 256, 'num_load': 1, 'mode': 'good'} {'n': 16384, 'factor': 1.5} True 9", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^scale.*: \d")

    def test_errors_are_the_programs(self):
        with self.assertRaises(autotune.Error) as caught:
            autotune.tune("nowhere.ini", quiet=True)
        self.assertEqual((caught.exception.status, str(caught.exception)),
                         (2, "autotune: nowhere.ini: cannot open the file: No such file or directory"))

    def test_ctrl_c_lets_the_program_store(self):
        code = ("import autotune\ntry:\n    autotune.tune(%r, results='stopped', tuned='stopped/tuned.ini')\n"
                "except KeyboardInterrupt:\n    print('interrupted')")
        environment = {**os.environ, "AUTOTUNE_STANDIN": "noise=0.002,base_ns=50000000"}
        process = subprocess.Popen([sys.executable, "-u", "-c", code % str(SOURCE / "tests/standin/scale.ini")], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment)
        for line in process.stdout:
            if line.startswith("scale"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.communicate()[0]
        self.assertEqual((process.wait(), rest.splitlines()[-1]), (0, "interrupted"))
        self.assertTrue(Path("stopped/record.sqlite").exists())


if __name__ == "__main__":
    unittest.main()
