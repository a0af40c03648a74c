// GPU products by number. Callers use the number as a key, because it is smaller than the name.
// Number 0 is kAnyProduct. Products get numbers in the order of first use, and a number always
// means the same product.
// Threads: as Fleet: at a time, one thread may change it or several may read it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/must.h"
#include "model/request.h"

namespace subak {

// A ProductId has room for 65,535 products, and one more aborts the process. So callers limit the
// number of products.
class Products {
 public:
  Products() : names_{std::string(kAnyProduct)}, by_name_{{std::string(kAnyProduct), {}}} {}

  // Returns the number of the product. A product without a number gets a new one. An empty name is
  // kAnyProduct.
  ProductId intern(std::string_view product) {
    if (product.empty()) return ProductId();
    if (const auto it = by_name_.find(product); it != by_name_.end()) return it->second;
    const ProductId id(static_cast<ProductId::rep>(names_.size()));
    must(id.value == names_.size(), "there are fewer products than numbers");
    names_.emplace_back(product);
    by_name_.emplace(product, id);
    return id;
  }
  // Returns the name of a number that intern() returned. The text is valid until the next call of
  // intern().
  std::string_view name(ProductId id) const {
    must(id.value < names_.size(), "a product's number was given to a name");
    return names_[id.value];
  }
  // Returns the number of the product. None (0): intern() never got the product, or the product is
  // kAnyProduct.
  ProductId find(std::string_view product) const {
    const auto it = by_name_.find(product);
    return it == by_name_.end() ? ProductId() : it->second;
  }
  // How many products have a number. The numbers are from 1 to the result.
  std::size_t size() const { return names_.size() - 1; }

  // Aborts unless names and numbers refer to each other.
  void check() const {
    must(names_.size() == by_name_.size(), "each product has one number");
    for (const auto& [name, id] : by_name_) must(names_[id.value] == name, "a number has one name");
  }

 private:
  // The names, by ProductId::value.
  std::vector<std::string> names_;
  std::map<std::string, ProductId, std::less<>> by_name_;
};

}  // namespace subak
