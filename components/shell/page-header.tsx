import type { ReactElement, ReactNode } from "react";

interface PageHeaderProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
}

export function PageHeader({ title, lead, actions }: PageHeaderProps): ReactElement {
  return (
    <div className="mb-5 flex flex-wrap items-end gap-x-4 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        <h1 className="text-[1.375rem] leading-tight font-semibold tracking-[-0.015em]">{title}</h1>
        {lead === undefined ? null : <div className="mt-1 text-[0.8125rem] text-soft">{lead}</div>}
      </div>
      {actions}
    </div>
  );
}
