import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CodedError } from '@countersign/protocol'
import {
  apiFolder,
  type Deployment,
  escapeHtml,
  escapeJson,
  fillNames,
  SLOT,
} from './deployment-names.ts'

/** The documentation as built, with the names of this deployment filled in. */
export class Library {
  readonly deployment: Deployment
  readonly #dir: string
  readonly #files: ReadonlySet<string> | null
  /** Those that were asked for, in pieces. */
  readonly #filled = new Map<string, readonly string[]>()

  /** @param dir output folder of the build; may be missing, then only the documentation is unavailable */
  constructor(dir: string, deployment: Deployment) {
    const list = join(dir, 'files.json')
    this.deployment = deployment
    this.#dir = dir
    this.#files = existsSync(list) ? new Set(JSON.parse(readFileSync(list, 'utf8'))) : null
  }

  /** The folder of the HTTP reference and the OpenAPI document. */
  get api(): string {
    return apiFolder(this.deployment.features)
  }

  /** @throws CodedError UNAVAILABLE if the documentation has not been built */
  has(file: string): boolean {
    if (this.#files !== null) return this.#files.has(file)
    throw new CodedError('UNAVAILABLE', 'The documentation is not built: npm run build')
  }

  /**
   * The pieces of a file: what differs between requests goes between them.
   * @throws CodedError NOT_FOUND, UNAVAILABLE if the documentation has not been built
   */
  pieces(file: string): readonly string[] {
    const known = this.#filled.get(file)
    if (known !== undefined) return known
    if (!this.has(file))
      throw new CodedError('NOT_FOUND', 'The documentation has no page of this name.')
    const template = readFileSync(join(this.#dir, file), 'utf8')
    // Split first: a name may contain the character of a slot.
    const pieces = template
      .split(SLOT)
      .map((piece) => fillNames(piece, this.deployment, escapeFor(file)))
    this.#filled.set(file, pieces)
    return pieces
  }

  /** A file without slots. @throws as `pieces` */
  text(file: string): string {
    return this.pieces(file).join('')
  }
}

/** How names are escaped in a file. */
function escapeFor(file: string): (name: string) => string {
  if (file.endsWith('.html')) return escapeHtml
  return file.endsWith('.json') ? escapeJson : (name) => name
}
