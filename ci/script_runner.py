"""Runs a Python script of ci/ within a test's own process: starting an interpreter for each question takes too long."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def run(script, *arguments):
    """What subprocess.run would return: returncode, stdout, stderr."""
    loader = importlib.machinery.SourceFileLoader(script.replace("-", "_"), str(HERE / script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = [script, *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = module.main()
    except SystemExit as end:
        err.write(end.code if isinstance(end.code, str) else "")
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = before
    return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())
