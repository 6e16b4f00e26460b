"use client";
import { Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useId } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/components/ui/menu";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { Ladder, PolicyDocument } from "@/lib/domain/policy";
import { addedLadder } from "./ladder-draft";
import type { LadderDraft } from "./ladder-draft";
import { LadderFields } from "./ladder-fields";

interface Pair {
  readonly asked: string;
  readonly served: string;
}

interface Parts {
  readonly ladders: readonly LadderDraft[];
  readonly downgrade: readonly Pair[];
}

interface SectionProps extends Parts {
  /** How many budgets name which ladder. */
  readonly ladderUse: Readonly<Record<string, number>>;
  readonly models: readonly string[];
  /** What the whole form says; null while a field of it is wrong. */
  readonly document: PolicyDocument | null;
  readonly errors: Readonly<Record<string, string>>;
  /** From what stands now, since an undo may come late. */
  readonly onChange: (update: (before: Parts) => Partial<Parts>) => void;
}

const BLANK: Ladder = {
  rungs: [{ atBasisPoints: 0, name: "normal", actions: { "*": { kind: "pass" } } }],
  overflow: "none",
};

function AddLadder({ onChange }: Pick<SectionProps, "onChange">): ReactElement {
  const t = useTranslations("ladderForm");
  const words = useBudgetWords();
  const add = (name: string, template: Ladder): void =>
    onChange(({ ladders }) => ({ ladders: addedLadder(ladders, name, template) }));
  return (
    <Menu>
      <MenuTrigger asChild>
        <Button size="sm">
          <Plus aria-hidden /> {t("add")}
        </Button>
      </MenuTrigger>
      <MenuContent align="start">
        {Object.entries(LADDER_TEMPLATES).map(([name, template]) => (
          <MenuItem key={name} onSelect={() => add(name, template)}>
            {words.ladderName(name)}
          </MenuItem>
        ))}
        <MenuItem onSelect={() => add("ladder", BLANK)}>{t("blank")}</MenuItem>
      </MenuContent>
    </Menu>
  );
}

/** Which model a downgrade serves in place of which. */
function DowngradeMap({ downgrade, models, errors, onChange }: SectionProps): ReactElement {
  const t = useTranslations("ladderForm");
  const fieldText = useFieldText();
  const list = useId();
  const change = (index: number, part: Partial<Pair>): void =>
    onChange((before) => ({
      downgrade: before.downgrade.map((pair, place) => (place === index ? { ...pair, ...part } : pair)),
    }));
  return (
    <section className="mt-4 grid gap-2">
      <h4 className="text-[0.8125rem] font-semibold">{t("mapTitle")}</h4>
      <p className="text-xs text-soft">{t("mapNote")}</p>
      <datalist id={list}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      {downgrade.length === 0 ? <p className="text-[0.8125rem] text-soft">{t("mapEmpty")}</p> : null}
      {downgrade.map((pair, index) => (
        // Rows have no names of their own: both of their texts may be typed anew.
        <div
          key={index}
          className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto] items-start gap-2"
          data-pair={index}
        >
          {(["asked", "served"] as const).map((side) => (
            <Field
              key={side}
              label={<span className={index === 0 ? "" : "sr-only"}>{t(side)}</span>}
              error={side === "served" ? fieldText(errors[`downgrade/${String(index)}`]) : undefined}
            >
              {(attributes) => (
                <Input
                  {...attributes}
                  list={list}
                  autoComplete="off"
                  value={pair[side]}
                  onChange={(event) => change(index, { [side]: event.target.value })}
                />
              )}
            </Field>
          ))}
          <Button
            variant="ghost"
            size="icon"
            className={index === 0 ? "mt-6" : "mt-1.5"}
            aria-label={t("removePair", { number: index + 1 })}
            onClick={() =>
              onChange((before) => ({ downgrade: before.downgrade.filter((_, place) => place !== index) }))
            }
          >
            <X aria-hidden />
          </Button>
        </div>
      ))}
      {errors["downgrade"] === undefined ? null : (
        <p className="text-[0.8125rem] font-medium text-danger">{fieldText(errors["downgrade"])}</p>
      )}
      <div>
        <Button
          size="sm"
          onClick={() => onChange((before) => ({ downgrade: [...before.downgrade, { asked: "", served: "" }] }))}
        >
          <Plus aria-hidden /> {t("addPair")}
        </Button>
      </div>
    </section>
  );
}

/** The ladders of a policy, and the cheaper models that their downgrades serve. */
export function LaddersSection(props: SectionProps): ReactElement {
  const { ladders, ladderUse, models, document, errors, onChange } = props;
  const t = useTranslations("ladderForm");
  const c = useTranslations("common");
  const words = useBudgetWords();
  function remove(ladder: LadderDraft): void {
    onChange((before) => ({ ladders: before.ladders.filter((one) => one.key !== ladder.key) }));
    toast(t("removed", { name: words.ladderName(ladder.name) }), {
      duration: 10_000,
      action: { label: c("undo"), onClick: () => onChange((now) => ({ ladders: [...now.ladders, ladder] })) },
    });
  }
  return (
    <section className="border-t px-4 py-4 first:border-t-0 sm:px-5" aria-labelledby="policy-ladders">
      <h3 id="policy-ladders" className="text-[0.9375rem] font-semibold">
        {t("title")}
      </h3>
      <p className="mb-3 text-xs text-soft">{t("note")}</p>
      <div className="grid gap-2.5">
        {ladders.length === 0 ? <p className="text-[0.8125rem] text-soft">{t("empty")}</p> : null}
        {ladders.map((ladder) => (
          <LadderFields
            key={ladder.key}
            {...{ ladder, models, document, errors }}
            uses={ladder.isNew ? 0 : (ladderUse[ladder.name] ?? 0)}
            onChange={(changed) =>
              onChange((before) => ({
                ladders: before.ladders.map((one) => (one.key === ladder.key ? changed : one)),
              }))
            }
            onRemove={() => remove(ladder)}
          />
        ))}
        <div>
          <AddLadder onChange={onChange} />
        </div>
      </div>
      <DowngradeMap {...props} />
    </section>
  );
}
