import { readFileSync } from 'node:fs'
import { PolicyError } from '../policy/policy-error.ts'
import { type Config, readConfig } from './config.ts'
import type { Log } from './log.ts'
import type { ForwardAuth } from './server.ts'

/** Polls, because file watchers miss some of the ways in which editors and orchestrators replace files. */
const POLL_MS = 1000

/** Settings that are read at start only. */
const RESTART = ['host', 'port', 'nonces'] as const

/** Reloads the server's configuration when its file changes. */
export class ConfigReloader {
  readonly #file: string
  readonly #server: ForwardAuth
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #loadedText: string

  /** @param text the content of the file that the server was started with */
  constructor(file: string, text: string, server: ForwardAuth, log: Log) {
    this.#file = file
    this.#loadedText = text
    this.#server = server
    this.#log = log
    this.#timer = setInterval(() => this.check(), POLL_MS)
    this.#timer.unref()
  }

  /** @param force reload even if the file is unchanged, and report a missing file (SIGHUP) */
  check(force = false): void {
    let text: string
    try {
      text = readFileSync(this.#file, 'utf8')
    } catch (error) {
      // The file may be missing for a moment while it is being replaced.
      if (force) this.#reportRefusal([(error as Error).message])
      return
    }
    if (text === this.#loadedText && !force) return
    this.#loadedText = text
    this.#load(text)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #load(text: string): void {
    const { config: previous, metrics } = this.#server
    let config: Config
    try {
      config = readConfig(text, process.env, previous)
      this.#server.use(config)
    } catch (error) {
      const mistakes = error instanceof PolicyError ? error.mistakes : [(error as Error).message]
      this.#reportRefusal(mistakes)
      return
    }
    metrics.recordReload('loaded')
    this.#log('info', 'reloaded', { file: this.#file, mode: config.policy.mode })
    if (RESTART.some((name) => config[name] !== previous[name])) {
      const note = 'Restart to change host, port or nonces.'
      this.#log('warn', 'reloaded', { file: this.#file, note })
    }
  }

  #reportRefusal(mistakes: readonly string[]): void {
    this.#server.metrics.recordReload('refused')
    const note = 'The file has errors and was not loaded. The previous configuration stays active.'
    this.#log('error', 'reload-refused', { file: this.#file, note, mistakes })
  }
}
