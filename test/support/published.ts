import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run, tempDir } from './service.ts'

/** A packed package, and a project that has installed it. */
export interface Packed {
  readonly tarball: string
  /** The project's directory: it contains the package and its dependencies, but no workspace. */
  readonly dir: string
  /** The directory of the installed package. */
  readonly installed: string
}

/** Builds, packs and installs a package of the workspace, and before it the workspace packages that it needs. */
export async function pack(
  t: { after(end: () => unknown): void },
  name: string,
  needs: readonly string[] = [],
): Promise<Packed> {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@noble'), join(dir, 'node_modules/@noble'))
  const dependencies = Object.fromEntries(
    [...needs, name].map((each) => [`@countersign/${each}`, '0.1.0']),
  )
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module', dependencies }))
  for (const each of needs) await packInto(dir, each)
  return { dir, ...(await packInto(dir, name)) }
}

async function packInto(dir: string, name: string): Promise<Omit<Packed, 'dir'>> {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const dist = join(dir, `${name}-dist`)
  const options = ['--outDir', join(dist, 'lib'), '--emptyOutDir', '--logLevel', 'warn']
  await succeed(process.execPath, vite, 'build', join(ROOT, 'packages', name), ...options)
  await succeed('npm', 'pack', dist, '--pack-destination', dir)
  const tarball = join(dir, `countersign-${name}-0.1.0.tgz`)
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
