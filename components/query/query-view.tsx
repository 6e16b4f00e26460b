"use client";
import { useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { Card } from "@/components/ui/card";
import { cn } from "@/components/ui/cn";
import { EmptyState } from "@/components/ui/notice";
import type { EmptyStateProps } from "@/components/ui/notice";
import { QueryError } from "./query-error";

interface QueryViewProps<Data> {
  /** A query of TanStack, or one whose pages the caller has joined. */
  readonly query: {
    readonly data: Data | undefined;
    readonly error: Error | null;
    readonly isPlaceholderData?: boolean;
    readonly refetch: () => Promise<unknown>;
  };
  /** In the shape of what comes, so that nothing jumps. */
  readonly skeleton: ReactNode;
  /** What to say in place of the data; null: there is something to show. */
  readonly empty?: (data: Data) => EmptyStateProps | null;
  readonly children: (data: Data) => ReactNode;
}

/**
 * What was read, in each of its states. An error stands above old data and never takes it away; the skeleton waits a
 * moment, so that a fast answer does not flash; data of another filter is dimmed until its own comes.
 */
export function QueryView<Data>({ query, skeleton, empty, children }: QueryViewProps<Data>): ReactElement {
  const c = useTranslations("common");
  const { data, error, isPlaceholderData = false, refetch } = query;
  const nothing = data === undefined ? null : (empty?.(data) ?? null);
  return (
    <>
      {error === null ? null : (
        <div className="mb-4">
          <QueryError error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {data === undefined ? (
        error === null ? (
          <div
            aria-busy
            data-testid="loading"
            className="animate-in fill-mode-backwards delay-150 duration-150 fade-in-0"
          >
            <span role="status" className="sr-only">
              {c("loading")}
            </span>
            {skeleton}
          </div>
        ) : null
      ) : nothing !== null ? (
        <Card>
          <EmptyState {...nothing} />
        </Card>
      ) : (
        <div aria-busy={isPlaceholderData} className={cn("transition-opacity", isPlaceholderData && "opacity-60")}>
          {children(data)}
        </div>
      )}
    </>
  );
}
