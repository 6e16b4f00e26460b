"use client";
import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useId, useState } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { DialogFrame } from "@/components/ui/dialog";
import { Input } from "@/components/ui/field";
import type { PagePath } from "./navigation";
import { useCommands } from "./use-commands";
import type { Command } from "./use-commands";

interface PaletteProps {
  readonly allowed: readonly PagePath[];
}

function Option({
  command,
  id,
  isActive,
  isFirstOfGroup,
  onChoose,
  onPoint,
}: {
  readonly command: Command;
  readonly id: string;
  readonly isActive: boolean;
  readonly isFirstOfGroup: boolean;
  readonly onChoose: () => void;
  readonly onPoint: () => void;
}): ReactElement {
  const t = useTranslations("palette");
  const { Icon, label, note, group } = command;
  return (
    <>
      {isFirstOfGroup ? (
        <li role="presentation" className="px-2.5 pt-3 pb-1 text-xs font-medium text-soft">
          {t(`groups.${group}`)}
        </li>
      ) : null}
      {/* The field keeps the focus and names the chosen option: keys are handled there. */}
      <li
        id={id}
        role="option"
        aria-selected={isActive}
        ref={(element) => {
          if (isActive) element?.scrollIntoView({ block: "nearest" });
        }}
        onClick={onChoose}
        onMouseMove={isActive ? undefined : onPoint}
        className={cn(
          "flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm max-md:min-h-11",
          isActive ? "bg-brand-soft text-brand-strong" : "",
        )}
      >
        <Icon aria-hidden className="size-4 shrink-0 text-soft" />
        <span className="min-w-0 flex-1 truncate">{label}</span>
        {note === undefined ? null : <span className="shrink-0 text-xs text-soft">{note}</span>}
      </li>
    </>
  );
}

function Palette({ allowed, onClose }: PaletteProps & { readonly onClose: () => void }): ReactElement {
  const t = useTranslations("palette");
  const listId = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const commands = useCommands(allowed, text);
  // What is found later may be less than what was pointed at.
  const active = Math.min(chosen, commands.length - 1);
  const choose = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  function onKeyDown(event: KeyboardEvent): void {
    // Enter that ends the writing of a Chinese word chooses nothing.
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((active + step + commands.length) % Math.max(commands.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(commands[active]);
    }
  }
  return (
    <DialogFrame
      shape="dialog"
      title={t("title")}
      onClose={onClose}
      className="md:top-[12vh] md:max-w-lg md:translate-y-0"
    >
      <Input
        role="combobox"
        aria-label={t("field")}
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        {...(commands[active] === undefined ? {} : { "aria-activedescendant": `${listId}-${String(active)}` })}
        placeholder={t("field")}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={listId} role="listbox" aria-label={t("title")} className="mt-1 h-72 overflow-y-auto">
        {commands.map((command, index) => (
          <Option
            key={`${command.group} ${command.id}`}
            id={`${listId}-${String(index)}`}
            command={command}
            isActive={index === active}
            isFirstOfGroup={command.group !== commands[index - 1]?.group}
            onChoose={() => choose(command)}
            onPoint={() => setChosen(index)}
          />
        ))}
      </ul>
      <p role="status" className={commands.length === 0 ? "pb-2 text-center text-[0.8125rem] text-soft" : "sr-only"}>
        {commands.length === 0 ? t("nothing") : t("found", { count: commands.length })}
      </p>
    </DialogFrame>
  );
}

/** The button in the top bar, and the keys that open the same from anywhere: ⌘K or Ctrl K. */
export function CommandPalette({ allowed }: PaletteProps): ReactElement {
  const t = useTranslations("palette");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <Button
        variant="ghost"
        aria-keyshortcuts="Meta+K Control+K"
        className="gap-2 px-2.5 text-soft max-md:w-11 max-md:px-0"
        onClick={() => setOpen(true)}
      >
        <Search aria-hidden />
        <span className="sr-only">{t("open")}</span>
        <kbd className="rounded-sm border px-1.5 font-sans text-[0.6875rem] max-md:hidden">{"Ctrl K"}</kbd>
      </Button>
      {isOpen ? <Palette allowed={allowed} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
