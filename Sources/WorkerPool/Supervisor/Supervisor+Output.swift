import LinuxSystem

/// The output of workers.
extension Supervisor {
  func heard(_ line: OutputLine, from worker: WorkerProcess) {
    if line.isError, delegate?.takes(line.text, of: worker.id) == true { return }
    if line.isError {
      if worker.life.isPrintingStacks {
        worker.stack.add(line.text)
        setDeadline(of: worker, .moreStacks)
      } else {
        worker.lastLines.append(line.text)
        if worker.lastLines.count > WorkerProcess.keptLines { worker.lastLines.removeFirst() }
      }
    }
    let (isPassedOn, omitted) = worker.outputAllowance.take(now: Clock.now)
    tell(omitted, of: worker)
    guard isPassedOn else { return }
    let work = delegate?.work(of: worker.id).map { " \($0)" } ?? ""
    log(.workerOutput, "\(worker.name)\(work): \(line.text)", .pid(worker.pid), .worker(worker.id.number))
  }

  func tellOmittedLines(of worker: WorkerProcess) {
    tell(worker.outputAllowance.takeOmitted(), of: worker)
  }

  private func tell(_ omitted: Int, of worker: WorkerProcess) {
    guard omitted > 0 else { return }
    log(
      .workerOutput, "\(worker.name) wrote \(omitted) lines more, which are left out", .pid(worker.pid),
      .worker(worker.id.number), .count(omitted))
  }
}
