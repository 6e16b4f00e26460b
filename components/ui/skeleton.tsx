import type { ComponentProps, ReactElement } from "react";
import { Card } from "./card";
import { cn } from "./cn";

export function Skeleton({ className, ...props }: ComponentProps<"div">): ReactElement {
  return <div aria-hidden className={cn("animate-pulse rounded-md bg-sunken", className)} {...props} />;
}

const ROW_WIDTHS = ["w-2/5", "w-1/3", "w-1/2", "w-1/4"];

/** A table or list that is on its way: a head, and rows of differing length with a figure at their end. */
export function SkeletonRows({ rows = 8 }: { readonly rows?: number }): ReactElement {
  return (
    <Card aria-hidden className="divide-y">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="flex h-13 items-center gap-4 px-4 sm:px-5">
          <Skeleton className={cn("h-3.5", ROW_WIDTHS[index % ROW_WIDTHS.length])} />
          <Skeleton className="ml-auto h-3.5 w-16" />
        </div>
      ))}
    </Card>
  );
}

/** Cards with a title and some lines. */
export function SkeletonCards({ count = 3 }: { readonly count?: number }): ReactElement {
  return (
    <div aria-hidden className="grid gap-4">
      {Array.from({ length: count }, (_, index) => (
        <Card key={index} className="grid gap-3 px-4 py-4 sm:px-5">
          <Skeleton className="h-4 w-40" />
          <Skeleton className="h-3.5 w-2/3" />
          <Skeleton className="h-3.5 w-1/2" />
        </Card>
      ))}
    </div>
  );
}
