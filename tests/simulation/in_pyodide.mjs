// Runs a Python file in Pyodide, and prints the last value:
//
//     node in_pyodide.mjs PYODIDE PACKAGES PROJECT FILE BYTECODE
//
// Nothing is fetched: the packages and the project are folders of this machine, and what is compiled is kept in
// one of it.
import { pathToFileURL } from "node:url";

const [pyodide, packages, project, file, bytecode] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
try {
  const python = await loadPyodide({ env: { HOME: "/home/pyodide", PYTHONPYCACHEPREFIX: "/bytecode" } });
  for (const [place, root] of [["/packages", packages], ["/project", project], ["/bytecode", bytecode]]) {
    python.FS.mkdirTree(place);
    python.FS.mount(python.FS.filesystems.NODEFS, { root }, place);
  }
  // In a task of the browser's own loop, as a cell of a notebook is.
  console.log(await python.runPythonAsync(`
import asyncio, runpy, sys
sys.path[:0] = ["/project", "/packages"]
import pyrsistent_as_rpds.pure
sys.modules["rpds"] = pyrsistent_as_rpds.pure
import json
names = runpy.run_path("/project/${file}")

async def inside():
    assert asyncio.current_task() is not None
    return names["digests"]()

found = await asyncio.create_task(inside())
json.dumps({"python": sys.version_info[:2], "platform": sys.platform, **found})
`));
} catch (error) {
  // Not the whole stack: it begins with megabytes of compiled code.
  console.error(String(error.message ?? error));
  process.exitCode = 1;
}
