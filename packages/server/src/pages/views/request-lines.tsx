import type { Inspection } from '../check-request/inspect-request.ts'
import type { Cover, RequestLine } from '../check-request/request-lines.ts'

/** The request line by line. What is signed shows by an icon, an underline, a word for screen readers and a colour. */
export function RequestLines({ inspection }: { readonly inspection: Inspection }) {
  if (inspection.kind === 'fault') {
    return <p className="rounded-lg bg-sunken px-4 py-3">Correct the request to see its parts.</p>
  }
  const { lines } = inspection
  const covers = LEGEND.filter((cover) => lines.some((line) => coversOf(line).includes(cover)))
  return (
    <>
      <ol className="rounded-lg border border-line bg-surface py-2">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its place
          <Line key={index} line={line} />
        ))}
      </ol>
      <ul aria-label="Marks" className="mt-2 space-y-1 text-sm/6">
        {covers.map((cover) => (
          <li key={cover} className="flex gap-2">
            <CoverIcon cover={cover} />
            <span className="min-w-0">
              <span className={COVERS[cover].ink}>{COVERS[cover].word}</span>
              <span className="text-soft">: {COVERS[cover].meaning}</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Line({ line }: { readonly line: RequestLine }) {
  const { label, parts, isChanged } = line
  const worst = WORST.find((cover) => coversOf(line).includes(cover)) ?? 'unsigned'
  return (
    <li
      className={`relative flex gap-2 overflow-hidden px-3 py-0.5 ${isChanged ? 'bg-warn-wash' : ''}`}
    >
      <CoverIcon cover={worst} />
      <code className="min-w-0 font-mono text-[0.8125rem]/6 break-all whitespace-pre-wrap">
        {label !== '' && <span className="text-soft">{label}</span>}
        {parts.map(({ text, cover }) => (
          <span key={text} className={COVERS[cover].ink} data-cover={cover}>
            <span className="sr-only">({COVERS[cover].word}) </span>
            {text}
          </span>
        ))}
        {isChanged && <strong className="ml-2 font-sans text-warn">changed</strong>}
      </code>
    </li>
  )
}

/** The worst first. */
const WORST: readonly Cover[] = ['required', 'unsigned', 'signed', 'signature']
const LEGEND: readonly Cover[] = ['signed', 'unsigned', 'required', 'signature']

function coversOf({ parts }: RequestLine): readonly Cover[] {
  return parts.map(({ cover }) => cover)
}

interface CoverStyle {
  readonly word: string
  readonly meaning: string
  /** Tailwind classes. */
  readonly ink: string
  readonly icon: string
}

const COVERS: Readonly<Record<Cover, CoverStyle>> = {
  signed: {
    word: 'Signed',
    meaning: 'nobody can change it unnoticed.',
    ink: 'text-good underline decoration-solid decoration-2 underline-offset-4',
    icon: 'M5 9h10v8H5zM7 9V6.5a3 3 0 0 1 6 0V9',
  },
  unsigned: {
    word: 'Not signed',
    meaning: 'anyone on the way can change it.',
    ink: 'text-warn underline decoration-dotted decoration-2 underline-offset-4',
    icon: 'M5 9h10v8H5zM7 9V5a3 3 0 0 1 5.8-1',
  },
  required: {
    word: 'Not signed, but must be',
    meaning: 'the request is refused for it.',
    ink: 'bg-bad-wash text-bad underline decoration-wavy underline-offset-4',
    icon: 'M10 3 18 17H2zM10 8v4M10 14.2v.3',
  },
  signature: {
    word: 'Signature',
    meaning: 'which parts it covers, by which key, when, and its bytes.',
    ink: 'text-accent',
    icon: 'M4 16l2-5L14 3l3 3-8 8zM12 5l3 3',
  },
}

const ICON_INKS: Readonly<Record<Cover, string>> = {
  signed: 'text-good',
  unsigned: 'text-warn',
  required: 'text-bad',
  signature: 'text-accent',
}

function CoverIcon({ cover }: { readonly cover: Cover }) {
  return (
    <svg
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={`mt-1 size-4 shrink-0 ${ICON_INKS[cover]}`}
    >
      <path d={COVERS[cover].icon} />
    </svg>
  )
}
