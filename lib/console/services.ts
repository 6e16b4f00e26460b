/** What pages and route handlers hand to the reads of this folder. */
import "server-only";
export { getConsoleServices as services } from "@/lib/wiring/console";
