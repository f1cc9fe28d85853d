import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ROOT } from './service.ts'

/** What to install where a program is not there: devDependencies of the root. */
const PACKAGES = {
  attw: '@arethetypeswrong/cli@0.18.5',
  bun: 'bun@1.4.5',
  deno: 'deno@2.9.5',
  publint: 'publint@0.3.25',
} as const

/**
 * A program out of node_modules/.bin, else of the PATH.
 * @throws Error that says what to install
 */
export function programOf(name: keyof typeof PACKAGES): string {
  const found = candidates(name).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(`This test runs ${name}. Install it: npm install -D ${PACKAGES[name]}`)
}

/**
 * A Node of a major version: the `node` of the PATH that is one, else the package `node-<major>` of node_modules.
 * @throws Error that says what to install
 */
export function nodeOf(major: number): string {
  const found = findNode(major)
  if (found !== undefined) return found
  throw new Error(`This test runs Node ${major}. ${howToGetNode(major)}`)
}

/** Why a test is skipped that runs a Node of a major version if there is one; false: there is one. */
export function withoutNode(major: number): string | false {
  return findNode(major) === undefined && howToGetNode(major)
}

function findNode(major: number): string | undefined {
  const packaged = join(ROOT, `node_modules/node-${major}/bin/node`)
  return [process.execPath, ...candidates('node'), packaged].find((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
    return stdout?.startsWith(`v${major}.`)
  })
}

function howToGetNode(major: number): string {
  return `Put one on the PATH, or: npm install -D node-${major}@npm:node@${major}`
}

function candidates(name: string): string[] {
  const directories = [
    join(ROOT, 'node_modules/.bin'),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return directories.map((directory) => join(directory, name))
}
