import { Agent, request } from 'node:http'

/** Clients that send requests until they are stopped. */
export interface Callers {
  /** How many requests have been answered so far. */
  answered(): number
  /** Stops them. Resolves with the counts once every request in flight has ended. */
  end(): Promise<{ readonly answered: number; readonly dropped: number }>
}

/**
 * Starts clients that request one URL repeatedly.
 * @param counts how many clients keep their connection, and how many open a new one for each request
 */
export function startCallers(
  url: string,
  counts: { readonly keeping: number; readonly anew: number },
): Callers {
  const outcomes = { answered: 0, dropped: 0 }
  const agent = new Agent({ keepAlive: true, maxSockets: counts.keeping })
  let isOver = false
  const call = async (by: Agent | false) => {
    while (!isOver) outcomes[(await isAnswered(url, by)) ? 'answered' : 'dropped'] += 1
  }
  const callers = [
    ...Array.from({ length: counts.keeping }, () => call(agent)),
    ...Array.from({ length: counts.anew }, () => call(false)),
  ]
  return {
    answered: () => outcomes.answered,
    async end() {
      isOver = true
      await Promise.all(callers)
      agent.destroy()
      return outcomes
    },
  }
}

function isAnswered(url: string, agent: Agent | false): Promise<boolean> {
  return new Promise((resolve) => {
    request(url, { agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
      .on('error', () => resolve(false))
      .end()
  })
}
