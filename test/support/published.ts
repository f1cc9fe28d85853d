import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGES_DIR } from '../../packages/server/src/base/packages.ts'
import { VERSION } from '../../packages/server/src/base/version.ts'
import { type Cleanup, ROOT, run, tempDir } from './service.ts'

/** A packed package, and a project that has installed it. */
export interface Packed {
  readonly tarball: string
  /** The project's directory: it contains the package and its dependencies, but no workspace. */
  readonly dir: string
  /** The directory of the installed package. */
  readonly installed: string
}

/** Installs a library from the tarball that `npm run build` has made, together with other libraries of the workspace. */
export async function installPacked(
  t: Cleanup,
  name: string,
  others: readonly string[] = [],
): Promise<Packed> {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@noble'), join(dir, 'node_modules/@noble'))
  const dependencies = Object.fromEntries(
    [...others, name].map((each) => [`@countersign/${each}`, VERSION]),
  )
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module', dependencies }))
  for (const each of others) await unpack(dir, each)
  return { dir, ...(await unpack(dir, name)) }
}

async function unpack(dir: string, name: string): Promise<Omit<Packed, 'dir'>> {
  const tarball = join(PACKAGES_DIR, `countersign-${name}-${VERSION}.tgz`)
  const installed = join(dir, 'node_modules/@countersign', name)
  mkdirSync(installed)
  await succeed('tar', 'xzf', tarball, '-C', installed, '--strip-components=1')
  return { tarball, installed }
}

/** Runs a program and asserts success. @returns its standard output */
export async function succeed(command: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { HOME: process.env.HOME ?? '/tmp' })
  assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}
