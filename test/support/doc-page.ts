import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './service.ts'

/** Whether a test runs a fenced block, or why none does. */
export type Fate =
  | { readonly kind: 'run'; readonly test: string }
  | { readonly kind: 'not run'; readonly reason: string }

/** A fenced block of a page. */
export interface DocBlock {
  /** Counted from 1. */
  readonly line: number
  /** The heading above it. */
  readonly heading: string
  readonly language: string
  /** The name of its tab; null if it is none. */
  readonly tab: string | null
  /** Without the fences. */
  readonly text: string
  /** Null if the page has no marker for it. */
  readonly fate: Fate | null
}

/** A block whose end was not read yet. */
type OpenBlock = Pick<DocBlock, 'line' | 'language' | 'tab'> & { fence: string; text: string }

const MARK = /^ *<!-- (blocks: )?(run by|not run:) (.+) -->$/

/**
 * Reads the fenced blocks of a page. A comment on its own line marks the next block, `<!-- run by <test> -->` or
 * `<!-- not run: <reason> -->`; with `<!-- blocks: … -->` it marks all following blocks.
 * @param page the path of a Markdown file, relative to the root
 */
export function blocksOf(page: string): DocBlock[] {
  const blocks: DocBlock[] = []
  let heading = ''
  let usual: Fate | null = null
  let next: Fate | null = null
  let open: OpenBlock | null = null
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (open !== null) {
      if (line.trim() !== open.fence) open.text += `${line}\n`
      else {
        const { fence: _, ...block }: OpenBlock = open
        blocks.push({ ...block, heading, fate: next ?? usual })
        open = next = null
      }
      continue
    }
    const [, fence, language = '', tab = null] = /^ *(`{3,})(\S*)(?: tab="(.*?)")?/.exec(line) ?? []
    const [, all, kind, about = ''] = MARK.exec(line) ?? []
    if (fence !== undefined) open = { line: index + 1, language, tab, fence, text: '' }
    else if (kind !== undefined) {
      const fate: Fate =
        kind === 'run by' ? { kind: 'run', test: about } : { kind: 'not run', reason: about }
      if (all === undefined) next = fate
      else usual = fate
    } else if (/^#+ /.test(line)) heading = line.replace(/^#+ /, '')
  }
  assert.equal(open, null, `${page}: a block does not end`)
  return blocks
}

/** The blocks of a page that a test runs. It must run all of them. */
export class DocPage {
  readonly #page: string
  readonly #test: string
  readonly #mine: readonly DocBlock[]
  readonly #taken = new Set<DocBlock>()

  /** @param testFile `import.meta.filename` of the test named on the page */
  constructor(page: string, testFile: string) {
    this.#page = page
    this.#test = relative(ROOT, testFile)
    this.#mine = blocksOf(page).filter(
      ({ fate }) => fate?.kind === 'run' && fate.test === this.#test,
    )
  }

  /** The joined text of the blocks under a heading, optionally only those in one language. */
  take(heading: string, language?: string): string {
    const found = this.#mine.filter(
      (each) => each.heading === heading && (language ?? each.language) === each.language,
    )
    assert.ok(found.length > 0, `${this.#page} has no block for ${this.#test} under ${heading}`)
    for (const each of found) this.#taken.add(each)
    return found.map(({ text }) => text).join('')
  }

  /** The texts of the blocks under a heading, one by one, optionally only those in one language. */
  takeEach(heading: string, language?: string): string[] {
    this.take(heading, language)
    return this.#mine
      .filter((each) => each.heading === heading && (language ?? each.language) === each.language)
      .map(({ text }) => text)
  }

  /** Asserts that every block was taken. Call it at the end of the test file. */
  assertAllTaken(): void {
    const left = this.#mine.filter((each) => !this.#taken.has(each))
    assert.deepEqual(
      left.map(({ line, heading }) => `${this.#page}:${line} ${heading}`),
      [],
      'blocks that the page says this test runs, and it does not',
    )
  }
}
