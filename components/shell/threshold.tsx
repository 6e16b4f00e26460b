import { useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { Mark } from "./mark";
import { LanguageMenu, ThemeMenu } from "./preferences";

const STEPS = [
  { key: "warn", mark: "75", y: 92 },
  { key: "downgrade", mark: "90", y: 164 },
  { key: "protect", mark: "98", y: 236 },
  { key: "exhausted", mark: "100", y: 308 },
] as const;

/** The stepped weir: four falls of water, each named by what happens there. */
function Weir(): ReactElement {
  const t = useTranslations("signIn");
  return (
    <div className="relative hidden overflow-hidden bg-[oklch(0.3_0.068_238)] text-[oklch(0.97_0.01_220)] lg:block">
      <svg
        aria-hidden
        viewBox="0 0 640 400"
        preserveAspectRatio="xMidYMid slice"
        className="absolute inset-0 size-full"
        fill="none"
      >
        {STEPS.map(({ key, y }, index) => (
          <path
            key={key}
            d={`M-10 ${String(y - 60)}h${String(90 + index * 110)}c56 0 50 72 110 72H660V420H-10Z`}
            fill="oklch(0.42 0.09 230)"
            fillOpacity={0.2 + index * 0.09}
          />
        ))}
        {STEPS.map(({ key, y }, index) => (
          <path
            key={key}
            d={`M-10 ${String(y - 60)}h${String(90 + index * 110)}c56 0 50 72 110 72H660`}
            stroke="oklch(0.85 0.07 215)"
            strokeOpacity={0.6 - index * 0.1}
            strokeWidth="1.25"
          />
        ))}
      </svg>
      <div className="relative flex h-full flex-col justify-between p-12">
        <div className="flex items-center gap-3 [--mark-ground:oklch(0.97_0.01_220)] [--mark-water:oklch(0.36_0.085_236)]">
          <Mark className="size-9" />
          <span className="text-xl font-semibold tracking-[-0.02em]">{"Spillway"}</span>
        </div>
        <div className="max-w-md">
          <p className="text-2xl leading-snug font-medium tracking-[-0.01em] text-balance">{t("motto")}</p>
          <ol className="mt-8 grid gap-2.5">
            {STEPS.map(({ key, mark }) => (
              <li key={key} className="flex items-baseline gap-3 text-sm">
                <span className="figures w-14 text-right text-[oklch(0.85_0.07_215)]">{`${mark} %`}</span>
                <span>{t(`steps.${key}`)}</span>
              </li>
            ))}
          </ol>
        </div>
      </div>
    </div>
  );
}

interface ThresholdProps {
  readonly title: string;
  readonly lead: ReactNode;
  readonly children: ReactNode;
}

/** The frame of the pages before the console: the weir on one side, one thing to do on the other. */
export function Threshold({ title, lead, children }: ThresholdProps): ReactElement {
  return (
    <div className="grid min-h-dvh lg:grid-cols-[minmax(0,1.15fr)_minmax(0,1fr)]">
      <Weir />
      <div className="flex min-w-0 flex-col">
        <div className="flex justify-end gap-0.5 p-4">
          <LanguageMenu />
          <ThemeMenu />
        </div>
        <main id="main" className="mx-auto flex w-full max-w-sm flex-1 flex-col justify-center px-5 pb-24">
          <Mark className="mb-5 size-10 lg:hidden" />
          <h1 className="text-2xl font-semibold tracking-[-0.02em]">{title}</h1>
          <div className="mt-1.5 mb-6 text-sm text-soft">{lead}</div>
          {children}
        </main>
      </div>
    </div>
  );
}
