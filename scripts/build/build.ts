// The product as it runs: the console built by Next into .next, every worker entry (and the seed) bundled by esbuild into
// dist. Bundled, a worker is ready in half the time and memory that running its TypeScript takes.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuildFailure, Metafile } from "esbuild";
import { build } from "esbuild";
import type { Child } from "@/lib/services/child";
import { lastLines, startChild } from "@/lib/services/child";
import { reasonOf, ServiceError } from "@/lib/services/service-error";
import { ensurePrismaClient } from "./prisma-client";
import { sourceHash } from "./source-hash";

export interface BuildOptions {
  readonly root: string;
  readonly logFolder: string;
  /** Told of the running build, so that Ctrl-C can stop it. */
  readonly onChild?: (child: Child) => void;
}

/** Builds unless the present build is of these very sources. Says whether it had to. */
export async function ensureBuilt(options: BuildOptions): Promise<boolean> {
  const { root } = options;
  ensurePrismaClient(root);
  const hash = sourceHash(root);
  if (buildIsOf(root, hash)) return false;
  // Without its stamp a build that breaks off is never taken for a whole one.
  rmSync(stampOf(root), { force: true });
  await bundleWorkers(root);
  if (existsSync(join(root, "app"))) await buildConsole(options);
  writeFileSync(stampOf(root), hash);
  return true;
}

function stampOf(root: string): string {
  return join(root, "dist", "sources.sha256");
}

function buildIsOf(root: string, hash: string): boolean {
  const stamp = stampOf(root);
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== hash) return false;
  const consoleIsBuilt = !existsSync(join(root, "app")) || existsSync(join(root, ".next", "BUILD_ID"));
  return consoleIsBuilt && workerEntries(root).every((entry) => existsSync(join(root, bundleOf(entry))));
}

/** The programs of the product. Everything else in workers is part of one of them. */
const programs = ["main", "web-server", "gateway-server", "sandbox-server"].map((name) => `workers/${name}.ts`);

export function workerEntries(root: string): string[] {
  return [...programs, "prisma/seed.ts"].filter((entry) => existsSync(join(root, entry)));
}

/** Where the bundle of an entry is, relative to the project. */
export function bundleOf(entry: string): string {
  return join("dist", entry.replace(/\.ts$/, ".js"));
}

export async function bundleWorkers(root: string, entries = workerEntries(root), folder = "dist"): Promise<void> {
  mkdirSync(join(root, folder), { recursive: true });
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [...entries],
      outdir: folder,
      outbase: ".",
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      target: "node20",
      sourcemap: true,
      logLevel: "silent",
      tsconfig: "tsconfig.json",
      metafile: true,
    });
    refuseLostImports(metafile);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError(`The workers could not be bundled: ${bundleProblem(error)}.`, { cause: error });
  }
}

/** With external packages, esbuild takes an import of ours that resolves to nothing for a package, and says nothing. */
function refuseLostImports(metafile: Metafile): void {
  for (const [output, { imports }] of Object.entries(metafile.outputs)) {
    const lost = imports.find((imported) => imported.external === true && imported.path.startsWith("@/"));
    if (lost !== undefined) throw new ServiceError(`${output} needs ${lost.path}, which does not exist.`);
  }
}

function bundleProblem(error: unknown): string {
  const first = (error as Partial<BuildFailure>).errors?.[0];
  if (first === undefined) return reasonOf(error);
  return first.location === null ? first.text : `${first.location.file}:${first.location.line}: ${first.text}`;
}

async function buildConsole(options: BuildOptions): Promise<void> {
  const logFile = join(options.logFolder, "build.log");
  const child = startChild({
    name: "next build",
    command: process.execPath,
    args: [join(options.root, "node_modules", "next", "dist", "bin", "next"), "build"],
    cwd: options.root,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    logFile,
  });
  options.onChild?.(child);
  const how = await child.exited;
  if (how === "exit code 0") return;
  const lines = lastLines(logFile, 60);
  const telling = lines.find((line) => /error|cannot|failed/i.test(line)) ?? lines.at(-1) ?? how;
  throw new ServiceError(`The console could not be built: ${telling.trim()} (log: ${logFile}).`);
}
