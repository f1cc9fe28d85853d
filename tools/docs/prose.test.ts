import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readContents } from './compile-book.ts'
import { beforeCode, sentencesOf, wordsOf } from './prose.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = readContents(ROOT).groups.flatMap(({ pages }) =>
  pages.map(({ file }) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') })),
)

/** Words of a sentence, and before the first command of a page. */
const MOST_WORDS = 30
const MOST_BEFORE_CODE = 60

test('no sentence of the documentation has more than 30 words', (t) => {
  const all = PAGES.flatMap(({ file, text }) =>
    sentencesOf(text).map((sentence) => ({ file, sentence, words: wordsOf(sentence).length })),
  )
  assert.ok(all.length > 3000, `${all.length} sentences`)
  const long = all.filter(({ words }) => words > MOST_WORDS)
  t.diagnostic(`${long.length} of ${all.length} sentences have more than ${MOST_WORDS} words`)
  assert.deepEqual(
    long.map(({ file, words, sentence }) => `${file}: ${words} words: ${sentence}`),
    [],
  )
})

test('every page of the documentation shows a command or code after its first paragraph', () => {
  for (const { file, text } of PAGES) {
    const words = wordsOf(beforeCode(text) ?? assert.fail(`${file} has no code`)).length
    assert.ok(words <= MOST_BEFORE_CODE, `${file}: ${words} words before the first code`)
  }
})

test('sentences are counted in paragraphs and lists, not in headings, tables, code and comments', () => {
  const page = [
    '# A title of four',
    '<!-- no: words -->',
    'One `two three`, four. Five',
    'six! Is it “seven”?',
    '',
    '- Eight - nine',
    '- Ten.',
    '',
    '| a | b. c |',
    '|---|---|',
    '| d | e. f |',
    '',
    '```sh',
    'not. this',
    '```',
  ].join('\n')
  assert.deepEqual(sentencesOf(page), [
    'One two three, four.',
    'Five six!',
    'Is it “seven”?',
    'Eight - nine',
    'Ten.',
  ])
  assert.deepEqual(wordsOf('Eight - nine, 10 …'), ['Eight', 'nine,', '10'])
  assert.equal(beforeCode('# A\n\nb c\n\n```sh\nd\n```\n')?.trim(), 'b c')
  assert.equal(beforeCode('# A\n\nb'), null)
})
