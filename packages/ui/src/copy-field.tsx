import type { ReactNode } from 'react'

export interface CopyButtonProps {
  /** The text to copy. `enableCopying` handles the click. */
  readonly value: string
  /** The accessible name of the value: "the DID". */
  readonly what: string
}

/** A button that copies a text. Hidden if scripts are disabled. */
export function CopyButton({ value, what }: CopyButtonProps) {
  return (
    <button
      type="button"
      data-copy={value}
      className="inline-flex min-h-8 shrink-0 cursor-pointer items-center rounded-md border border-line-strong bg-surface px-2.5 text-sm font-medium text-ink hover:border-accent hover:text-accent noscript:hidden"
    >
      <span data-copy-word aria-live="polite">
        Copy
      </span>
      <span className="sr-only"> {what}</span>
    </button>
  )
}

/** A value with a copy button: a DID, a key, a URL. */
export function CopyField({ value, what }: CopyButtonProps) {
  return (
    <span className="flex items-start gap-3">
      <code className="min-w-0 flex-1 py-1 font-mono text-[0.8125rem] wrap-anywhere text-ink sm:text-sm">
        {breakable(value)}
      </code>
      <CopyButton value={value} what={what} />
    </span>
  )
}

/**
 * A text with places where a line may end within a long word: after `/`, `:`, `=`, `?`, `&`, `|` and `,`. Long values so break between
 * the parts of a URL, not in the middle of one.
 */
export function breakable(text: string): ReactNode {
  const parts = text.split(/(?<=[/:=?&|,])(?=[^/\s])/)
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other identity and never move
  return parts.map((part, index) => [index > 0 && <wbr key={index} />, part])
}

/** A line ends between words, and never at a hyphen within one, unless a word is longer than the line. */
function wholeWord(text: string, index: number) {
  if (text === '' || /^\s/.test(text)) return text
  return (
    <span key={index} className="inline-block max-w-full wrap-break-word">
      {breakable(text)}
    </span>
  )
}

export interface CommandProps extends CopyButtonProps {
  /** The displayed text if it differs from the copied one, such as a command with its output. */
  readonly shown?: string
}

/** Commands or markup, displayed completely. */
export function Command({ value, what, shown = value }: CommandProps) {
  return (
    <div className="flex items-start gap-2 rounded-lg border border-line bg-sunken py-2 pr-2 pl-4 max-sm:flex-col-reverse max-sm:items-end">
      <pre className="min-w-0 max-w-full flex-1 py-1.5 max-sm:w-full max-sm:pt-0 text-sm/6 whitespace-pre-wrap wrap-anywhere">
        <code className="font-mono text-ink">{shown.split(/(\s+)/).map(wholeWord)}</code>
      </pre>
      <CopyButton value={value} what={what} />
    </div>
  )
}
