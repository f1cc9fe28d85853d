import { useEffect, useReducer } from 'react'

const OFTEN_MS = 250

/** @returns the whole seconds that are left until a moment of this browser's clock; 0 from then on */
export function useCountdown(deadline: number): number {
  const [, look] = useReducer((times: number) => times + 1, 0)
  useEffect(() => {
    if (deadline <= Date.now()) return
    const timer = setInterval(look, OFTEN_MS)
    // A page in the background is woken rarely: what it shows is right as soon as someone looks.
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [deadline])
  return Math.max(0, Math.ceil((deadline - Date.now()) / 1000))
}
