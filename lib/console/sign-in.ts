/** Around the sign-in page: where to go afterwards, and whether there is a sample company. */
import { webEnv } from "@/lib/config/env";

const HOME = "/overview";

/** A path of this site, or the home page: a link must not be able to send a person elsewhere after signing in. */
export function localPath(next: string | string[] | undefined): string {
  if (typeof next !== "string" || next.length > 500 || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return HOME;
  return next.startsWith("/sign-in") || next.startsWith("/api/") ? HOME : next;
}

/** Whether this installation started with a sample company: the page then says where its account was printed. */
export function hasSampleCompany(): boolean {
  return webEnv().SPILLWAY_SAMPLE_COMPANY;
}
