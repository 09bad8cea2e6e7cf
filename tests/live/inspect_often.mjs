// Runs the Inspector's command line once for each line of stdin, in one process: most of a run is Node.js reading it.
//
//     node inspect_often.mjs INSPECTOR
//
// INSPECTOR is the built file of that command line, each line a JSON array of the words after its name. Of each
// run one line of JSON is printed: what the run printed, and its error, or null.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , file] = process.argv;
const { runCli } = await import(pathToFileURL(file).href);
const write = process.stdout.write.bind(process.stdout);

for await (const line of createInterface({ input: process.stdin })) {
  let printed = "";
  process.stdout.write = (text, ...rest) => {
    printed += text;
    rest.filter((each) => typeof each === "function").forEach((done) => done());
    return true;
  };
  let error = null;
  try {
    await runCli([process.argv[0], file, ...JSON.parse(line)]);
  } catch (thrown) {
    error = String(thrown.stack ?? thrown);
  }
  process.stdout.write = write;
  write(JSON.stringify({ printed, error }) + "\n");
}
