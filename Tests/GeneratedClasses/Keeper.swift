import CoreData

/// Written by hand; its properties are generated.
public final class Keeper: Being {
  var isBusy: Bool { animalCount > 2 }

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    name = "somebody"
  }
}
