import { readFileSync } from 'node:fs'
import { PolicyError } from '../policy/policy-error.ts'
import { type Config, readConfig } from './config.ts'
import type { Log } from './log.ts'
import type { ForwardAuth } from './server.ts'

/** How often the file is looked at. Editors and orchestrators replace files in ways that no watcher sees everywhere. */
const LOOK_MS = 1000

/** Keeps a server at what its file says. */
export class Watch {
  readonly #file: string
  readonly #server: ForwardAuth
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #seen: string

  /** @param seen what the file said when the server was started */
  constructor(file: string, seen: string, server: ForwardAuth, log: Log) {
    this.#file = file
    this.#seen = seen
    this.#server = server
    this.#log = log
    this.#timer = setInterval(() => this.look(), LOOK_MS)
    this.#timer.unref()
  }

  /** @param anew reads the file even where it says what it said (SIGHUP): the environment of its secrets may differ */
  look(anew = false): void {
    let text: string
    try {
      text = readFileSync(this.#file, 'utf8')
    } catch (error) {
      // Gone for a moment, while it is being replaced: said where somebody asks for it.
      if (anew) this.#refuse([(error as Error).message])
      return
    }
    if (text === this.#seen && !anew) return
    this.#seen = text
    this.#load(text)
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #load(text: string): void {
    const { config: before, metrics } = this.#server
    let config: Config
    try {
      config = readConfig(text, process.env, before)
      this.#server.use(config)
    } catch (error) {
      const mistakes = error instanceof PolicyError ? error.mistakes : [(error as Error).message]
      this.#refuse(mistakes)
      return
    }
    metrics.reloaded('loaded')
    this.#log('info', 'reloaded', { file: this.#file, mode: config.policy.mode })
    if (config.host !== before.host || config.port !== before.port) {
      const note = 'Another host or port takes a restart.'
      this.#log('warn', 'reloaded', { file: this.#file, note })
    }
  }

  #refuse(mistakes: readonly string[]): void {
    this.#server.metrics.reloaded('refused')
    const note = 'The file was not taken: the policy before it goes on.'
    this.#log('error', 'reload-refused', { file: this.#file, note, mistakes })
  }
}
