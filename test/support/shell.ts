import { type ChildProcess, spawn } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASE_ENV } from './run.ts'
import { ROOT } from './service.ts'

/** A shell that runs several scripts in a row and keeps its variables between them. */
export class Shell {
  readonly #bash: ChildProcess
  #output = ''
  #errors = ''
  #count = 0

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    this.#bash = spawn('bash', ['-u', '-o', 'pipefail'], { cwd, env })
    this.#bash.stdout?.on('data', (chunk) => (this.#output += chunk))
    this.#bash.stderr?.on('data', (chunk) => (this.#errors += chunk))
  }

  /**
   * Runs commands and waits until they end.
   * @returns their standard output
   * @throws Error if the last command failed
   */
  async run(commands: string): Promise<string> {
    this.#count += 1
    const mark = `@@ ${this.#count} `
    this.#output = ''
    this.#errors = ''
    this.#bash.stdin?.write(`${commands}\necho "${mark}$?"\n`)
    const end = new RegExp(`${mark}(\\d+)\\n`)
    while (!end.test(this.#output)) {
      if (this.#bash.exitCode !== null) throw new Error(`the shell ended: ${this.#errors}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const [line, code] = end.exec(this.#output) as unknown as [string, string]
    if (code !== '0') throw new Error(`${commands}\nexit ${code}: ${this.#errors}`)
    return this.#output.replace(line, '')
  }

  close(): void {
    this.#bash.stdin?.end()
  }
}

/**
 * Starts a shell in a directory in which npx finds the commands, as in a checkout.
 * @param env the environment of the commands
 */
export function shellInCheckout(dir: string, env: Readonly<Record<string, string>>): Shell {
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, 'package.json'), '{}')
  const path = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
  return new Shell(dir, { ...BASE_ENV, PATH: path, HOME: dir, ...env })
}
