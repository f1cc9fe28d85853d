import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import { BASE_ENV, run } from './run.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'
import { until } from './until.ts'

/** Shared by all tests, so that the standard library is compiled once. Go finds what is in it by its content. */
const GOCACHE = join(ROOT, 'node_modules/.cache/go')

/**
 * Builds a program of `tools/` with Go and Debian's packages of Go modules.
 * @param name of its folder
 * @returns the path of the program
 */
export async function buildGo(t: Cleanup, name: string): Promise<string> {
  const dir = tempDir(t)
  const env = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE, HOME: dir }
  const program = join(dir, name)
  const source = join(ROOT, 'tools', name, 'main.go')
  const built = await run('go', ['build', '-o', program, source], env)
  assert.equal(built.code, 0, built.stderr)
  return program
}

/** An empty home of a user of Go, without modules, whose programs have the module of a service. */
export class GoHome {
  readonly #t: Cleanup
  readonly dir: string
  /** Writable, so that it can be removed after the test. */
  readonly env: Readonly<Record<string, string>>

  constructor(t: Cleanup) {
    this.#t = t
    this.dir = tempDir(t)
    this.env = { HOME: this.dir, GOCACHE, GOFLAGS: '-modcacherw' }
  }

  /** Runs a command, and asserts that it succeeds. @returns its standard output */
  async run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(command, args, this.env, '', {}, cwd)
    assert.equal(code, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }

  /**
   * Makes a folder with a program, and builds it.
   * @param install shell commands that make the module and get its dependencies
   * @returns the path of the program
   */
  async build(name: string, install: string, source: string): Promise<string> {
    const cwd = join(this.dir, name)
    mkdirSync(cwd)
    await this.run(cwd, 'sh', '-e', '-c', install)
    writeFileSync(join(cwd, 'main.go'), source)
    await this.run(cwd, 'go', 'build', '-o', 'program')
    await this.run(cwd, 'go', 'vet')
    return join(cwd, 'program')
  }

  /**
   * Asks the Go module, by `TestCrossLanguage` of its tests.
   * @param cases of one kind each, as go/crosslanguage_test.go reads them
   * @returns the answers
   */
  async compare(cases: readonly object[]): Promise<unknown[]> {
    const [given, answers] = [join(this.dir, 'cases'), join(this.dir, 'answers')]
    writeFileSync(given, cases.map((each) => `${JSON.stringify(each)}\n`).join(''))
    const env = { ...this.env, COUNTERSIGN_CASES: given, COUNTERSIGN_ANSWERS: answers }
    const args = ['test', '-count=1', '-run', '^TestCrossLanguage$', '.']
    const { code, stdout, stderr } = await run('go', args, env, '', {}, join(ROOT, 'go'))
    assert.equal(code, 0, stdout + stderr)
    const lines = readFileSync(answers, 'utf8').trimEnd().split('\n')
    assert.equal(lines.length, cases.length)
    return lines.map((line) => JSON.parse(line))
  }

  /** Starts a program that serves at an address, until the test ends. @param origin where it answers */
  async serve(program: string, origin: string): Promise<void> {
    const child = spawn(program, { env: { ...BASE_ENV, ...this.env }, stdio: 'inherit' })
    const exited = once(child, 'exit')
    this.#t.after(() => {
      child.kill()
      return exited
    })
    await until(async () => (await fetch(origin).catch(() => null)) !== null)
  }
}

/** An address on loopback at which nothing listens yet. */
export async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`
}
