import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Db, Tables } from './database.ts'

/** Executes a statement at once, and returns its rows. */
export type Execute = (text: string, parameters: readonly unknown[]) => unknown[]

const executors = new WeakMap<Db, Execute>()

/** Says how a database executes that waits for nobody: Kysely's way there takes longer than a statement of SQLite. */
export function executesAtOnce(db: Db, execute: Execute): void {
  executors.set(db, execute)
}

/** Stands in a query for a value that each execution brings. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

type Builder<P, R> = (
  db: Kysely<Tables>,
  param: <K extends keyof P & string>(name: K) => P[K],
) => Compilable<R>

/**
 * A query that Kysely builds and compiles once for each kind of database: building one takes 15 µs, executing it 3.
 * @param build the query, with `param(name)` where a value will stand
 * @returns executes it and resolves to its rows
 */
export function prepared<P extends object, R>(
  build: Builder<P, R>,
): (db: Db, values: P) => Promise<R[]> {
  const compiledFor = new Map<unknown, CompiledQuery<R>>()
  return async (db, values) => {
    const dialect = db.getExecutor().adapter.constructor
    let compiled = compiledFor.get(dialect)
    if (compiled === undefined) {
      compiled = build(db, (name) => new Placeholder(name) as never).compile()
      compiledFor.set(dialect, compiled)
    }
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.name as keyof P] : parameter,
    )
    const execute = executors.get(db)
    if (execute !== undefined) return execute(compiled.sql, parameters) as R[]
    return (await db.executeQuery<R>({ ...compiled, parameters })).rows
  }
}
