import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Db, Tables } from './database.ts'

/** Executes a statement synchronously, and returns its rows. */
export type SyncExecute = (text: string, parameters: readonly unknown[]) => unknown[]

const executors = new WeakMap<Db, SyncExecute>()

/** Lets `prepared` bypass Kysely for a synchronous database: Kysely's overhead exceeds the time of a SQLite statement. */
export function registerSyncExecutor(db: Db, execute: SyncExecute): void {
  executors.set(db, execute)
}

/** Marks the position of a parameter in a compiled query. */
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
 * A query that Kysely builds and compiles only once for each database system. Building takes 15 µs, executing 3 µs.
 * @param build builds the query, with `param(name)` in place of each value
 * @returns a function that executes the query with values and resolves to its rows
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
