import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './service.ts'

/** What becomes of a fenced block: a test runs it, or it is none to run, for a reason. */
export type Fate =
  | { readonly kind: 'run'; readonly test: string }
  | { readonly kind: 'not run'; readonly reason: string }

/** A fenced block of a page. */
export interface DocBlock {
  /** Counted from 1. */
  readonly line: number
  /** The heading that it stands under. */
  readonly heading: string
  readonly language: string
  /** Without the fences. */
  readonly text: string
  /** Null where the page does not say. */
  readonly fate: Fate | null
}

const MARK = /^<!-- (blocks: )?(run by|not run:) (.+) -->$/

/**
 * The fenced blocks of a page. A comment on a line of its own says what becomes of the next one, `<!-- run by <test> -->` or
 * `<!-- not run: <reason> -->`; after `<!-- blocks: … -->` it is said of all that follow.
 * @param page path of a Markdown file, from the root
 */
export function blocksOf(page: string): DocBlock[] {
  const blocks: DocBlock[] = []
  let heading = ''
  let usual: Fate | null = null
  let next: Fate | null = null
  let open: { line: number; language: string; fence: string; text: string } | null = null
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (open !== null) {
      if (line.trim() !== open.fence) open.text += `${line}\n`
      else {
        const { line: at, language, text } = open
        blocks.push({ line: at, heading, language, text, fate: next ?? usual })
        open = next = null
      }
      continue
    }
    const [, fence, language = ''] = /^ *(`{3,})(\S*)/.exec(line) ?? []
    const [, all, kind, about = ''] = MARK.exec(line) ?? []
    if (fence !== undefined) open = { line: index + 1, language, fence, text: '' }
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

/** The blocks of a page that a test runs; it has to run all of them. */
export class DocPage {
  readonly #page: string
  readonly #test: string
  readonly #mine: readonly DocBlock[]
  readonly #taken = new Set<DocBlock>()

  /** @param testFile `import.meta.filename` of the test that the page names */
  constructor(page: string, testFile: string) {
    this.#page = page
    this.#test = relative(ROOT, testFile)
    this.#mine = blocksOf(page).filter(
      ({ fate }) => fate?.kind === 'run' && fate.test === this.#test,
    )
  }

  /** The text of the blocks under a heading, one after the other; of a language, where several stand there. */
  take(heading: string, language?: string): string {
    const found = this.#mine.filter(
      (each) => each.heading === heading && (language ?? each.language) === each.language,
    )
    assert.ok(found.length > 0, `${this.#page} has no block for ${this.#test} under ${heading}`)
    for (const each of found) this.#taken.add(each)
    return found.map(({ text }) => text).join('')
  }

  /** The same, a text each. */
  takeEach(heading: string): string[] {
    this.take(heading)
    return this.#mine.filter((each) => each.heading === heading).map(({ text }) => text)
  }

  /** For the end of the test file. */
  assertAllTaken(): void {
    const left = this.#mine.filter((each) => !this.#taken.has(each))
    assert.deepEqual(
      left.map(({ line, heading }) => `${this.#page}:${line} ${heading}`),
      [],
      'blocks that the page says this test runs, and it does not',
    )
  }
}
