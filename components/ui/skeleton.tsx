import type { ComponentProps, ReactElement } from "react";
import { cn } from "./cn";

export function Skeleton({ className, ...props }: ComponentProps<"div">): ReactElement {
  return <div aria-hidden className={cn("animate-pulse rounded-md bg-sunken", className)} {...props} />;
}
