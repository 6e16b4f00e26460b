// npm run build: the product, if its sources changed since the last build.
import { join } from "node:path";
import { reasonOf } from "@/lib/services/service-error";
import { ensureBuilt } from "./build";

const root = join(import.meta.dirname, "..", "..");
const started = performance.now();
try {
  const built = await ensureBuilt({ root, logFolder: join(root, ".spillway", "logs") });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(built ? `Built in ${seconds} s.` : "The build is of these very sources already.");
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = 1;
}
