import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { run } from './run.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'

/** Helm reads YAML 1.1, as Kubernetes does: 0440 is octal there. */
const YAML = { version: '1.1' } as const

type Values = Readonly<Record<string, unknown>>

/** An object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels: Record<string, string>
    readonly annotations?: Record<string, string>
  }
  // biome-ignore lint/suspicious/noExplicitAny: tsc checks the fields, against the types of kubernetes-models
  readonly [field: string]: any
}

export interface Rendered {
  readonly manifests: readonly Manifest[]
  readonly notes: string
}

/** A chart of `deploy/helm`, rendered by Go's templates with Sprig, of which Helm is made. Helm itself is not run. */
export class Chart {
  readonly dir: string
  readonly #program: string
  readonly #metadata: Values
  readonly #defaults: Values
  readonly #isValid

  /** @param program the renderer, `tools/render-chart` */
  constructor(name: string, program: string) {
    this.dir = join(ROOT, 'deploy/helm', name)
    this.#program = program
    this.#metadata = this.#read('Chart.yaml')
    this.#defaults = this.#read('values.yaml')
    const schema = JSON.parse(readFileSync(join(this.dir, 'values.schema.json'), 'utf8'))
    this.#isValid = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true }).compile(
      schema,
    )
  }

  #read(file: string): Values {
    return parse(readFileSync(join(this.dir, file), 'utf8'), YAML) as Values
  }

  /** The values of a file in `ci/`. */
  example(name: string): Values {
    return this.#read(join('ci', `${name}.yaml`))
  }

  /** What is wrong with values by the chart's schema. */
  mistakesIn(values: Values): string {
    if (this.#isValid(merge(this.#defaults, values))) return ''
    return JSON.stringify(this.#isValid.errors)
  }

  /** @throws Error with the message of the template that fails */
  async render(values: Values, release = 'countersign'): Promise<Rendered> {
    assert.equal(this.mistakesIn(values), '')
    const given = JSON.stringify({ release, values: merge(this.#defaults, values) })
    const args = [this.dir, JSON.stringify(this.#metadata)]
    const { stdout, stderr } = await run(this.#program, args, {}, given)
    assert.equal(stderr, '')
    const { files, error } = JSON.parse(stdout) as {
      files?: Record<string, string>
      error?: string
    }
    if (files === undefined) throw new Error(error)
    const { 'NOTES.txt': notes = '', ...templates } = files
    const manifests = Object.values(templates).flatMap((each) =>
      parseAllDocuments(each, YAML).flatMap((document) => {
        assert.deepEqual(document.errors, [], each)
        return (document.toJS() as Manifest | null) ?? []
      }),
    )
    return { manifests, notes }
  }
}

/** As Helm fills in defaults: objects are merged, lists are replaced, null removes. */
function merge(defaults: Values, values: Values): Values {
  const merged: Record<string, unknown> = { ...defaults }
  for (const [name, value] of Object.entries(values)) {
    const former = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isObject(value) && isObject(former) ? merge(former, value) : value
  }
  return merged
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Writes objects as literals of their types (`kubernetes-models`, `@kubernetes-models/prometheus-operator`) and checks them with tsc. An
 * unknown or misspelt field, a missing one and a wrong type are errors.
 * @returns the errors of tsc
 */
export async function typeErrors(t: Cleanup, manifests: readonly Manifest[]): Promise<string> {
  const dir = tempDir(t)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  const literals = manifests.map(
    (each, i) => `export const object${i}: ${typeOf(each)} = ${JSON.stringify(each, null, 1)}`,
  )
  writeFileSync(join(dir, 'manifests.ts'), literals.join('\n'))
  const compilerOptions = {
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  const config = join(dir, 'tsconfig.json')
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['manifests.ts'] }))
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { code, stdout, stderr } = await run(process.execPath, [tsc, '-p', config])
  assert.equal(stderr, '')
  return code === 0 ? '' : stdout
}

function typeOf({ apiVersion, kind }: Manifest): string {
  const operator = apiVersion.startsWith('monitoring.coreos.com/')
  const types = operator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'
  return `import('${types}/${apiVersion}').I${kind}`
}
