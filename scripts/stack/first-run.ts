// The sample company's sign-in and API key. The seed makes them at random, prints them once and stores only hashes; this
// private file is the single place where they can be read again.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writePrivateFile } from "@/lib/services/private-file";
import { ServiceError } from "@/lib/services/service-error";
import type { ProcessSetting } from "./processes";
import { processOptions } from "./processes";

const firstRunSchema = z.looseObject({ email: z.string(), password: z.string(), apiKey: z.string() });

export type FirstRun = z.output<typeof firstRunSchema>;

/** The JSON line among whatever else the seed printed. */
export function parseSeedOutput(output: string): FirstRun | undefined {
  for (const line of output.split("\n")) {
    if (!line.trimStart().startsWith("{")) continue;
    try {
      const parsed = firstRunSchema.safeParse(JSON.parse(line));
      if (parsed.success) return parsed.data;
    } catch {
      // Some other line that begins with a brace.
    }
  }
  return undefined;
}

/**
 * Seeds an empty database with the sample company, and returns its sign-in if this or an earlier start made it.
 * `mustLook`: migrations were applied just now, so the database is new or has changed, or the stand-in provider has moved;
 * otherwise a kept sign-in says that the seed has nothing left to do, and looking would cost a second of every start.
 */
export async function seed(
  setting: ProcessSetting,
  dataFolder: string,
  mustLook: boolean,
): Promise<FirstRun | undefined> {
  const file = join(dataFolder, "first-run.json");
  if (existsSync(file) && !mustLook) return readKept(file);
  if (!existsSync(join(setting.root, "prisma", "seed.ts"))) return undefined;
  const made = parseSeedOutput(await runSeed(setting));
  if (made === undefined) return existsSync(file) ? readKept(file) : undefined;
  writePrivateFile(file, `${JSON.stringify(made)}\n`);
  return made;
}

function readKept(file: string): FirstRun | undefined {
  return parseSeedOutput(readFileSync(file, "utf8"));
}

function runSeed(setting: ProcessSetting): Promise<string> {
  const options = processOptions("seed", "prisma/seed.ts", setting);
  return new Promise((resolve, reject) => {
    const child = spawn(options.command, [...options.args], {
      cwd: options.cwd,
      env: options.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    // It is short-lived and in no group of its own, so the leash does not hold it.
    const end = (): boolean => child.kill();
    process.once("exit", end);
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.once("error", reject);
    child.once("close", (code) => {
      process.removeListener("exit", end);
      // Never its standard output: that is where the secrets are.
      appendFileSync(options.logFile, errors, { mode: 0o600 });
      if (code === 0) return resolve(output);
      const telling = errors.split("\n").find((line) => /error/i.test(line)) ?? errors.split("\n")[0] ?? "";
      return reject(
        new ServiceError(`The sample data could not be loaded: ${telling.trim()} (log: ${options.logFile}).`),
      );
    });
  });
}
