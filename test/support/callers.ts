import { Agent, request } from 'node:http'

/** What callers saw who go on asking until they are told to end. */
export interface Callers {
  /** How many requests have been answered so far. */
  answered(): number
  /** Resolves once each has the answer to what it has asked. */
  end(): Promise<{ readonly answered: number; readonly dropped: number }>
}

/**
 * Callers who ask for one address again and again.
 * @param counts how many keep their connection, and how many open one for each request
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
