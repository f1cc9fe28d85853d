import { existsSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import { nameTemplate } from './name-template.ts'

/** A file of an example, with placeholders for the names of the deployment. */
export interface ExampleFile {
  /** Within the folder of the example. */
  readonly path: string
  readonly text: string
}

/** It is downloaded, and not shown: nobody reads it. Its hashes could contain what looks like a name. */
const LOCK = 'package-lock.json'

/**
 * Reads an example.
 * @param folder of the example, relative to the root
 * @param shown its files without the README, in the order of the page
 */
export function readExample(root: string, folder: string, shown: readonly string[]): ExampleFile[] {
  const names = existsSync(join(root, folder, LOCK)) ? [...shown, LOCK] : shown
  return names.map((path) => {
    const text = readFileSync(join(root, folder, path), 'utf8')
    return { path, text: path === LOCK ? text : nameTemplate(text) }
  })
}

/**
 * The page of an example: its README, whose first commands begin with the download, and its files.
 * @param name of the page, such as `examples/shop`
 * @throws Error if the README has no commands
 */
export function exampleMarkdown(
  readme: string,
  name: string,
  files: readonly ExampleFile[],
): string {
  const [before, ...after] = readme.split('```sh\n')
  if (before === undefined || after.length === 0) throw new Error(`${name} has no commands`)
  const url = `${PLACEHOLDER.baseUrl}/docs/${name}.tgz`
  const quoted = PLACEHOLDER.urlQuote + url + PLACEHOLDER.urlQuote
  const download = `curl -sS ${quoted} | tar -xz && cd ${basename(name)}\n`
  const blocks = files
    .filter(({ path }) => path !== LOCK)
    .map(({ path, text }) => `### ${path}\n\n\`\`\`${extname(path).slice(1)}\n${text}\`\`\`\n`)
  return [
    `${before}\`\`\`sh\n${download}${after.join('```sh\n')}`,
    `## Files\n\nThe download [${basename(url)}](${url}) has all files, with the addresses of this service.\n`,
    ...blocks,
  ].join('\n')
}
