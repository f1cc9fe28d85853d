import assert from 'node:assert/strict'
import { join } from 'node:path'
import { run } from './run.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'

/**
 * Builds a program of `tools/` with Go and Debian's golang.org/x/mod.
 * @param name of its folder
 * @returns the path of the program
 */
export async function buildGo(t: Cleanup, name: string): Promise<string> {
  const dir = tempDir(t)
  const env = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: dir, HOME: dir }
  const program = join(dir, name)
  const source = join(ROOT, 'tools', name, 'main.go')
  const built = await run('go', ['build', '-o', program, source], env)
  assert.equal(built.code, 0, built.stderr)
  return program
}
