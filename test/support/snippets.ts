import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** The TypeScript blocks of a page, by the file name in their first line: `// claim.ts`. */
export function snippetsOf(markdownFile: string): Map<string, string> {
  const page = readFileSync(markdownFile, 'utf8')
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  assert.ok(blocks.length > 0)
  return new Map(
    blocks.map((code) => {
      const name = /^\/\/ ([a-z-]+\.ts)\n/.exec(code)?.[1]
      assert.ok(name, `a snippet without a name: ${code}`)
      return [name, code]
    }),
  )
}
