/** A stretch of Markdown: a fenced block with its fences, or what stands between two. */
interface Stretch {
  readonly fenced: boolean
  readonly text: string
}

/** Tells code from prose, since what looks like a link or a comment in code is neither. */
function stretchesOf(markdown: string): Stretch[] {
  const stretches: { fenced: boolean; lines: string[] }[] = []
  let fence: string | null = null
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    const closes = fence !== null && mark?.startsWith(fence) === true && line.trim() === mark
    const opens = fence === null && mark !== undefined
    const last = stretches.at(-1)
    if (opens || last === undefined || last.fenced !== (fence !== null)) {
      stretches.push({ fenced: opens || fence !== null, lines: [line] })
    } else last.lines.push(line)
    if (opens) fence = mark
    else if (closes) fence = null
  }
  return stretches.map(({ fenced, lines }) => ({ fenced, text: lines.join('\n') }))
}

/** Changes prose and leaves code alone. */
export function mapProse(markdown: string, change: (prose: string) => string): string {
  return stretchesOf(markdown)
    .map(({ fenced, text }) => (fenced ? text : change(text)))
    .join('\n')
}
