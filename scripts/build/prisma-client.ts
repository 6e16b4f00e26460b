// The Prisma client is generated, not committed. Generating takes two seconds, so only when the schema changed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ServiceError } from "@/lib/services/service-error";
import { sourceHash } from "./source-hash";

export function ensurePrismaClient(root: string): boolean {
  const stamp = join(root, "node_modules", ".cache", "spillway", "prisma-client");
  const hash = sourceHash(root, ["prisma/schema.prisma", "package-lock.json"]);
  const generated = join(root, "lib", "db", "generated", "client.ts");
  if (existsSync(generated) && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return false;
  const result = spawnSync(process.execPath, [join(root, "scripts", "prisma.mjs"), "generate"], {
    cwd: root,
    encoding: "utf8",
  });
  if (result.status !== 0) {
    const lines = `${result.stderr}${result.stdout}`.trim().split("\n");
    throw new ServiceError(
      `The Prisma client could not be generated: ${lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? ""}`,
    );
  }
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
  return true;
}
