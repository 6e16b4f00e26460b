import type { ReactElement, ReactNode } from "react";
import { ConsoleShell } from "@/components/shell/console-shell";
import { readShell } from "@/lib/console/shell";

/** The frame of the console. It takes no decision about access: every page asks for its own permission. */
export default async function ConsoleLayout({ children }: { readonly children: ReactNode }): Promise<ReactElement> {
  const shell = await readShell();
  return <ConsoleShell {...shell}>{children}</ConsoleShell>;
}
